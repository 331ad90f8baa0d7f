"""Loads modules from one file of byte code instead of from hundreds. To find a module and to open its file takes about
as long as to execute its code, and a small command loads more than seven hundred.

Python's own rule decides whether the byte code of a module is used: its source file must have the same size and time of
modification as when it was compiled. Everything else is imported as usual. The archive lies in the cache of this
package, and is written only where Python itself may write byte code.
"""

from __future__ import annotations

import _imp
import hashlib
import marshal
import os
import sys
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import MAGIC_NUMBER
from mmap import ACCESS_READ, mmap
from types import CodeType
from typing import Any

_FORMAT = b"cauce modules 1\n"
_START = len(_FORMAT) + 8
"""After the format comes the length of the index, then the index and the byte code."""
_PYC_HEADER = 16
_MOST_MISSING = 24
"""Modules that an archive may lack before it is written again."""
_NAME = "modules-"
_MOST_ARCHIVES = 4

Entry = tuple[str, str, bool, int, int, int, int]
"""Source file, byte code file, whether it is a package; time of modification and size of the source; place of the byte
code after the index, and its length."""


class Archive:
    """Finds and loads the modules of an archive. A finder in `sys.meta_path`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._index: dict[str, Entry] = {}
        self._others: frozenset[str] = frozenset()
        self._missed: set[str] = set()
        self._code = memoryview(b"")
        with suppress(OSError, ValueError, EOFError, TypeError):
            self._index, self._others, self._code = _read(path)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        entry = self._index.get(name)
        if entry is None or not _is_current(entry):
            self._missed.add(name)
            return None
        source, cached, is_package, *_ = entry
        spec = ModuleSpec(name, _Loader(name, source, self), origin=source, is_package=is_package)
        spec.has_location = True
        spec.cached = cached
        if is_package:
            spec.submodule_search_locations = [os.path.dirname(source)]
        return spec

    def invalidate_caches(self) -> None:
        """For `importlib.invalidate_caches`: every module is checked when it is imported."""

    def code(self, name: str) -> CodeType:
        code: CodeType = marshal.loads(self._bytes(name))
        _imp._fix_co_filename(code, self._index[name][0])  # type: ignore[attr-defined]
        return code

    def _bytes(self, name: str) -> memoryview:
        *_, start, length = self._index[name]
        return self._code[start : start + length]

    def renew(self) -> None:
        """Writes the archive again if it lacks modules of this process. Best effort: a failure costs time later."""
        missing = self._missed - self._others
        if len(missing) <= _MOST_MISSING or sys.dont_write_bytecode:
            return
        kept = {name: (entry, bytes(self._bytes(name))) for name, entry in self._index.items() if _is_current(entry)}
        kept |= {name: found for name in list(sys.modules) if _belongs(name) and (found := _compiled(name)) is not None}
        with suppress(OSError):
            _write(self.path, kept, (self._others | self._missed) - kept.keys())
            _remove_old(os.path.dirname(self.path))


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, archive: Archive) -> None:
        super().__init__(name, path)
        self._archive = archive

    def get_code(self, fullname: str) -> CodeType:
        return self._archive.code(fullname)


def _read(path: str) -> tuple[dict[str, Entry], frozenset[str], memoryview]:
    """The index, the names of modules that are known not to be in it, and the byte code."""
    with open(path, "rb") as file:
        content = memoryview(mmap(file.fileno(), 0, access=ACCESS_READ))
    if bytes(content[: len(_FORMAT)]) != _FORMAT:
        raise ValueError("not an archive")
    end = _START + int.from_bytes(content[len(_FORMAT) : _START], "little")
    index, others = marshal.loads(content[_START:end])
    return index, others, content[end:]


def install() -> Archive | None:
    """Uses the archive of this environment from now on. None if modules may come from the current directory: another
    process would then have others of the same names."""
    if not sys.flags.safe_path and sys.path and sys.path[0] in ("", os.getcwd()):
        return None
    archive = Archive(os.path.join(os.path.dirname(__file__), "__pycache__", f"{_NAME}{_environment()}.bin"))
    place = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else len(sys.meta_path)
    sys.meta_path.insert(place, archive)
    return archive


def _environment() -> str:
    """A digest of everything that decides which file a name stands for."""
    parts: list[Any] = [MAGIC_NUMBER, sys.flags.optimize, sys.prefix]
    parts += [(each, _changed(each)) for each in sys.path]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:20]


def _changed(path: str) -> int:
    """When a file was written, or one was added to a folder of the path: it may hide a module that comes later."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _is_current(entry: Entry) -> bool:
    try:
        found = os.stat(entry[0])
    except OSError:
        return False
    return found.st_mtime_ns == entry[3] and found.st_size == entry[4]


def _belongs(name: str) -> bool:
    """Whether a module was found in a folder of the path, under its own name."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    if spec is None or spec.name != name or not isinstance(spec.loader, SourceFileLoader) or not spec.cached:
        return False
    end = f"{name.replace('.', '/')}{'/__init__' if spec.submodule_search_locations is not None else ''}.py"
    return any(spec.origin == os.path.join(each, end) for each in sys.path)


def _compiled(name: str) -> tuple[Entry, bytes] | None:
    """The byte code that Python has kept for a module, if it is that of the source."""
    spec = sys.modules[name].__spec__
    assert spec is not None
    assert spec.origin is not None
    assert spec.cached is not None
    try:
        source = os.stat(spec.origin)
        with open(spec.cached, "rb") as file:
            content = file.read()
    except OSError:
        return None
    stamp = int(source.st_mtime) & 0xFFFFFFFF, source.st_size & 0xFFFFFFFF
    header = MAGIC_NUMBER + bytes(4) + b"".join(each.to_bytes(4, "little") for each in stamp)
    if content[:_PYC_HEADER] != header:
        return None
    is_package = spec.submodule_search_locations is not None
    entry = (spec.origin, spec.cached, is_package, source.st_mtime_ns, source.st_size, 0, len(content) - _PYC_HEADER)
    return entry, content[_PYC_HEADER:]


def _write(path: str, modules: dict[str, tuple[Entry, bytes]], others: frozenset[str]) -> None:
    index = marshal.dumps((_placed(modules), others))
    temporary = f"{path}.{os.getpid()}"
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644), "wb") as file:
            file.write(_FORMAT + len(index).to_bytes(8, "little") + index)
            file.writelines(code for _, code in modules.values())
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise


def _remove_old(folder: str) -> None:
    """Each environment has an archive, and a new one after every change of its packages: only the newest stay."""
    paths = [entry.path for entry in os.scandir(folder) if entry.name.startswith(_NAME)]
    for path in sorted(paths, key=_changed)[:-_MOST_ARCHIVES]:
        os.unlink(path)


def _placed(modules: dict[str, tuple[Entry, bytes]]) -> dict[str, Entry]:
    index: dict[str, Entry] = {}
    start = 0
    for name, ((source, cached, is_package, time, size, _, length), _code) in modules.items():
        index[name] = (source, cached, is_package, time, size, start, length)
        start += length
    return index
