"""Where compiled kernels are kept, and how they are brought back: object files, one for each kernel.

A file is named for all that it depends on (the sources, the compiler, this processor), so that none is ever stale
and several processes may write the same one.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import os
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from cauce.native.kernel import Kernel, Piece

_SEPARATOR = b"\n"
_llvm: Any = llvm
_engines: list[Any] = []
"""What has been loaded stays for the life of the process, as do the addresses in it."""


def address_of(kernel: Kernel) -> int:
    name = f"{kernel.name}-{_digest(kernel)}.o"
    for folder in _folders():
        try:
            found = (folder / name).read_bytes()
        except OSError:
            continue
        symbol, machine_code = found.split(_SEPARATOR, 1)
        return _loaded(symbol.decode(), machine_code)
    from cauce.native.build import compile_kernel

    made, machine_code = compile_kernel(kernel, target_machine())
    _keep(name, made.encode() + _SEPARATOR + machine_code)
    return _loaded(made, machine_code)


def _folders() -> list[Path]:
    """Beside the sources as Python's own compiled files; in the user's cache where that may not be written."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return [Path(__file__).parent / "__pycache__", Path(home, "cauce")]


def _keep(name: str, data: bytes) -> None:
    for folder in _folders():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            handle, path = tempfile.mkstemp(dir=folder, prefix=f"{name}.")
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(path, folder / name)
        except OSError:
            continue
        return


def _loaded(symbol: str, machine_code: bytes) -> int:
    engine = _llvm.create_mcjit_compiler(_llvm.parse_assembly(""), target_machine())
    engine.add_object_file(_llvm.ObjectFileRef.from_data(machine_code))
    engine.finalize_object()
    address: int = engine.get_function_address(symbol)
    if not address:
        raise RuntimeError(f"the compiled kernel {symbol} is damaged: delete it in {_folders()[0]}")
    _engines.append(engine)
    return address


@lru_cache(maxsize=1)
def target_machine() -> Any:
    _llvm.initialize_native_target()
    _llvm.initialize_native_asmprinter()
    return _llvm.Target.from_default_triple().create_target_machine(
        cpu=_llvm.get_host_cpu_name(),
        features=_processor(),
        opt=3,
        reloc="pic",
        codemodel="small",
    )


def _processor() -> str:
    features: str = _llvm.get_host_cpu_features().flatten()
    return features


@lru_cache(maxsize=1)
def surroundings() -> bytes:
    """What every kernel depends on beside its own source."""
    parts = [
        sys.version.encode(),
        _compiler_version(),
        llvmlite.__version__.encode(),
        _llvm.get_host_cpu_name().encode(),
        _processor().encode(),
    ]
    parts += [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    return hashlib.sha256(b"\0".join(parts)).digest()


def _compiler_version() -> bytes:
    """As numba's own file says it: to import it, or to ask for its metadata, takes too long."""
    found = importlib.util.find_spec("numba")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).with_name("_version.py").read_bytes()


@lru_cache
def _source(path: str) -> bytes:
    return Path(path).read_bytes()


def _digest(kernel: Kernel) -> str:
    files = sorted({inspect.getfile(function) for function in _functions(kernel)})
    parts = [surroundings(), kernel.name.encode(), *map(_source, files)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:20]


def _functions(part: Kernel | Piece) -> list[Any]:
    """The function and all that it calls."""
    found: dict[Any, None] = {}
    waiting = [part.function]
    while waiting:
        function = waiting.pop()
        if function in found:
            continue
        found[function] = None
        used = (function.__globals__.get(name) for name in function.__code__.co_names)
        waiting += [each.function for each in used if isinstance(each, Kernel | Piece)]
    return list(found)
