"""The cache of compiled kernels: one object file per kernel.

A file name is a digest of all dependencies (code, compiler, processor), so no file is ever stale and several
processes may write the same one. A file begins with a digest of its content; if it does not match, the kernel is
compiled again. Only files that this user or root owns, and that no one else can write, are ever loaded.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import stat
import sys
import threading
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from cauce.scan.native.kernel import Kernel, Piece

_MAGIC = b"cauce kernel 1\n"
"""The start of a file: its format and version. The digest and the body follow."""
_DIGEST_BYTES = 32
_SEPARATOR = b"\n"
"""Separates the name of the function from the machine code."""
_engines: list[Any] = []
"""Loaded code stays in memory until the process exits, as do the addresses in it."""
_one_thread = threading.Lock()
"""Held while a kernel is loaded or compiled: numba fails if two threads of a process compile at once."""


def address_of(kernel: Kernel) -> int:
    with _one_thread:
        return _loaded(*_body(kernel))


def object_file(kernel: Kernel) -> bytes:
    """From the cache, else compiled. It defines one symbol: the name of the kernel."""
    with _one_thread:
        return _body(kernel)[1]


def _body(kernel: Kernel) -> tuple[str, bytes]:
    """The name of the compiled function, and its machine code."""
    name = f"{kernel.name}-{_digest(kernel)}.o"
    body = _cached(name) or _compiled(kernel, name)
    symbol, machine_code = body.split(_SEPARATOR, 1)
    return symbol.decode(), machine_code


def _cached(name: str) -> bytes | None:
    found = (_read(folder / name) for folder in trusted_folders())
    return next((body for body in found if body is not None), None)


def _compiled(kernel: Kernel, name: str) -> bytes:
    from cauce.scan.native.build import compile_kernel

    symbol, machine_code = compile_kernel(kernel, target_machine())
    body = symbol.encode() + _SEPARATOR + machine_code
    _keep(name, body)
    return body


def _folders() -> list[Path]:
    """Cache folders: beside the sources, as `__pycache__`; the user's cache folder if that is not writable."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return [Path(__file__).parent / "__pycache__", Path(home, "cauce")]


def trusted_folders() -> list[Path]:
    """The cache folders that exist and that no other user can write."""
    return [folder for folder in _folders() if _is_ours(folder)]


def _is_ours(folder: Path) -> bool:
    try:
        return _only_owner_writes(folder.stat())
    except OSError:
        return False


def _only_owner_writes(found: os.stat_result) -> bool:
    """Whether this user or root owns it and others cannot write to it (except this user's own group)."""
    by_others = found.st_mode & stat.S_IWOTH or (found.st_mode & stat.S_IWGRP and found.st_gid != os.getegid())
    return found.st_uid in (0, os.geteuid()) and not by_others


def _read(path: Path) -> bytes | None:
    """The body of a file; None if it is missing, corrupt or not trusted."""
    data = read_trusted(path)
    if data is None:
        return None
    body = data[len(_MAGIC) + _DIGEST_BYTES :]
    return body if data[: -len(body) or None] == _header(body) else None


def read_trusted(path: Path) -> bytes | None:
    """The content of a file; None if it is missing, or others could have written it."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or not _only_owner_writes(found):
                return None
            return file.read()
    except OSError:
        return None


def _header(body: bytes) -> bytes:
    return _MAGIC + hashlib.sha256(body).digest()


def _keep(name: str, body: bytes) -> None:
    keep_file(name, _header(body) + body)


def keep_file(name: str, data: bytes) -> None:
    """Writes to the first writable cache folder. Best effort: a failure only costs time later."""
    for folder in _folders():
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _is_ours(folder):
                _write(folder / name, data)
                return
        except OSError:
            continue


def _write(path: Path, data: bytes) -> None:
    """Writes the file atomically, even if the machine crashes."""
    import tempfile

    handle, made = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(made, path)
    except OSError:
        os.unlink(made)
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _llvm() -> Any:
    """Imported here: it takes longer to load than all kernels from a library."""
    import llvmlite.binding as llvm

    return llvm


def _loaded(symbol: str, machine_code: bytes) -> int:
    llvm = _llvm()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(machine_code))
    engine.finalize_object()
    address: int = engine.get_function_address(symbol)
    if not address:
        raise RuntimeError(f"the compiled kernel has no function {symbol}")
    _engines.append(engine)
    return address


@lru_cache(maxsize=1)
def target_machine() -> Any:
    llvm = _llvm()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=_processor(),
        opt=3,
        reloc="pic",
        codemodel="small",
    )


def _processor() -> str:
    features: str = _llvm().get_host_cpu_features().flatten()
    return features


@lru_cache(maxsize=1)
def surroundings() -> bytes:
    """The common dependencies of all kernels besides their own source."""
    import llvmlite

    parts = [
        sys.version.encode(),
        _compiler_version(),
        llvmlite.__version__.encode(),
        _llvm().get_host_cpu_name().encode(),
        _processor().encode(),
    ]
    parts += [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    return hashlib.sha256(b"\0".join(parts)).digest()


def _compiler_version() -> bytes:
    """Read from numba's version file: importing numba or querying its metadata takes too long."""
    found = importlib.util.find_spec("numba")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).with_name("_version.py").read_bytes()


def _digest(kernel: Kernel) -> str:
    """Of the loaded code, not of the source files: these may have been replaced since this process imported them."""
    signature = repr((kernel.result, kernel.arguments))
    parts = [surroundings(), kernel.name.encode(), signature.encode()]
    parts += sorted(_content(function) for function in _functions(kernel))
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:20]


def _content(function: Any) -> bytes:
    """The byte code of a function and the constants of its module that it uses."""
    used = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    constants = {name: _constant(value) for name, value in used.items()}
    shown = repr((function.__qualname__, function.__defaults__, _code(function.__code__), constants))
    return hashlib.sha256(shown.encode()).digest()


def _code(code: CodeType) -> tuple[Any, ...]:
    constants = tuple(_code(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts)
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars


def _constant(value: object) -> object:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, hashlib.sha256(value.tobytes()).hexdigest()
    return repr(value) if isinstance(value, bool | int | float | str | bytes | tuple | np.generic) else None


def _functions(part: Kernel | Piece) -> list[Any]:
    """The function and all its callees."""
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
