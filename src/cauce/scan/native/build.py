"""Compiles a kernel with numba to an object file. Only it, ``bundling`` and ``instructions`` import numba."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import llvmlite.binding as llvm
from numba import njit, types
from numba.core import compiler
from numba.core.registry import cpu_target

from cauce.scan.native import instructions
from cauce.scan.native.kernel import Instruction, Kernel, Piece
from cauce.scan.native.types import Array, Scalar, Struct, Type

_types: Any = types
_njit: Any = njit
_llvm: Any = llvm
_compiler: Any = compiler
_compiled: dict[Callable[..., Any], Any] = {}


def compile_kernel(kernel: Kernel, machine: Any) -> tuple[str, bytes]:
    """The name of the compiled function, and the object file with it and all its callees."""
    symbol, module = compile_module(kernel)
    export_only(module, symbol, kernel.name)
    return kernel.name, machine.emit_object(module)


def export_only(module: Any, symbol: str, name: str) -> None:
    """Renames the function, and hides everything else: several kernels contain the same callees."""
    for value in [*module.functions, *module.global_variables]:
        if value.name == symbol:
            value.name = name
        elif not value.is_declaration:
            value.linkage = "internal"


def compile_module(kernel: Kernel) -> tuple[str, Any]:
    """The name of the compiled function, and the optimised LLVM module with it and all its callees."""
    flags = _compiler.Flags()
    # Called only from here, with arrays that the caller owns: needs no wrapper and no reference counts.
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    flags.nrt = False
    made = _compiler.compile_extra(
        cpu_target.typing_context,
        cpu_target.target_context,
        _bound(kernel.function),
        tuple(_numba_type(each) for each in kernel.arguments),
        _numba_type(kernel.result),
        flags,
        {},
    )
    return made.fndesc.llvm_func_name, _llvm.parse_assembly(made.library.get_llvm_str())


def _bound(function: Callable[..., Any]) -> FunctionType:
    """The function with the declarations of its callees replaced by their compiled forms."""
    names: dict[str, Any] = dict(function.__globals__)
    for name in function.__code__.co_names:
        if isinstance(names.get(name), Kernel | Piece | Instruction):
            names[name] = _callee(names[name])
    bound = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    bound.__module__, bound.__qualname__ = function.__module__, function.__qualname__
    return bound


def _callee(part: Kernel | Piece | Instruction) -> Any:
    if isinstance(part, Instruction):
        return getattr(instructions, part.name)
    if part.function not in _compiled:
        inline = isinstance(part, Piece) and part.inline
        _compiled[part.function] = _njit(forceinline=inline, _nrt=False)(_bound(part.function))
    return _compiled[part.function]


def _numba_type(kind: Type) -> Any:
    match kind:
        case Scalar():
            return getattr(types, kind.numba)
        case Array():
            return _types.Array(getattr(types, kind.item), kind.dimensions, "C", readonly=kind.read)
        case Struct():
            return _types.NamedTuple(tuple(_numba_type(member) for member in kind.members), kind.form)
