"""Declares kernels, the functions compiled into them, and the instructions that only they can use.

A declaration costs nothing: a kernel is loaded from the cache, or compiled, on its first call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from cauce.scan.native.types import Type

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Piece:
    """A function that kernels call, compiled into them."""

    function: Callable[..., Any]
    inline: bool = False


@dataclass(frozen=True)
class Instruction:
    """An instruction that Python lacks, looked up by name in ``instructions``."""

    name: str


class Kernel:
    """A compiled function: takes Python numbers and NumPy arrays, returns a number or nothing."""

    def __init__(self, function: Callable[..., Any], result: Type, arguments: tuple[Type, ...]) -> None:
        self.function = function
        self.result = result
        self.arguments = arguments
        self.name = f"{function.__module__}.{function.__name__}"
        self.__doc__ = function.__doc__
        self._run: Callable[..., int] | None = None
        declared.append(self)

    def __call__(self, *given: Any) -> Any:
        run = self._run or self.load()
        values: list[Any] = []
        for kind, value in zip(self.arguments, given, strict=True):
            values += kind.values(value)
        answer = cast(Any, self.result).native()
        # The second argument is a slot for a Python exception; kernels never raise.
        exception = ctypes.c_void_p()
        status = run(ctypes.byref(answer), ctypes.byref(exception), *values)
        if status not in (0, -2):
            raise RuntimeError(f"the kernel {self.name} failed with status {status}")
        return answer.value

    def load(self) -> Callable[..., int]:
        from cauce.scan.native.loading import address_of

        natives = [native for kind in self.arguments for native in kind.natives()]
        prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *natives)
        self._run = run = prototype(address_of(self))
        return run


declared: list[Kernel] = []
"""All kernels of the imported modules."""


def kernel(result: Type, *arguments: Type) -> Callable[[F], F]:
    """Declares a function as a kernel for exactly these types, so that no worker compiles another variant in a job."""

    def declare(function: F) -> F:
        return cast(F, Kernel(function, result, arguments))

    return declare


def piece(function: F) -> F:
    return cast(F, Piece(function))


def inline_piece(function: F) -> F:
    """A piece that is inlined wherever it is called."""
    return cast(F, Piece(function, inline=True))


def instruction(name: str) -> Any:
    return Instruction(name)
