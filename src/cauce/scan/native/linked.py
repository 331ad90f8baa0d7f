"""The kernels of a clone as one shared library in the cache, made when all of them have been compiled.

It loads without the library of the compiler, whose import takes longer than a small job. It is used only if no source
has changed since, on the same kind of processor; otherwise each kernel comes from its own file of the cache.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cauce.errors import UsageError
from cauce.scan.native import store
from cauce.scan.native.bundle import SOURCES, digest_of, signature
from cauce.scan.native.processor import processor_flags

if TYPE_CHECKING:
    from cauce.scan.native.kernel import Kernel

MANIFEST = "linked-kernels.json"


class Manifest(msgspec.Struct, frozen=True):
    sources: str
    """The digest of the sources that the kernels were compiled from."""
    stamps: str
    """The digest of their sizes and times of modification: if it fits, their content is not read."""
    processor: str
    """The features of the processor that they were compiled for."""
    library: str
    """The digest of the library, which is part of its name."""
    kernels: dict[str, str]
    """Their signatures by name."""

    @property
    def file(self) -> str:
        return f"linked-kernels-{self.library[:20]}.so"


class LinkedKernels:
    """The library in one of the folders, or none. It is opened once, so that this process keeps the code that fits its
    own if the files are replaced later."""

    def __init__(self, folders: Sequence[Path], sources: Path = SOURCES) -> None:
        self._sources = sources
        self._library: ctypes.CDLL | None = None
        for folder in folders:
            found = _manifest(folder)
            if found is not None and found.processor == _processor() and _is_intact(folder / found.file, found.library):
                self._manifest = found
                self._library = ctypes.CDLL(str(folder / found.file))
                break

    def address_of(self, kernel: Kernel) -> int | None:
        """None if the library does not have the kernel, or has it from other sources."""
        if not self.is_valid() or self._manifest.kernels.get(kernel.name) != signature(kernel):
            return None
        assert self._library is not None
        return ctypes.cast(self._library[kernel.name], ctypes.c_void_p).value

    def is_valid(self) -> bool:
        """Whether there is a library for this processor, compiled from these sources."""
        return self._library is not None and self._is_of_sources

    @cached_property
    def _is_of_sources(self) -> bool:
        found = self._manifest
        return _stamps(self._sources) == found.stamps or digest_of(self._sources) == found.sources


def link_all(kernels: Sequence[Kernel], sources: Path = SOURCES) -> None:
    """Links compiled kernels. Does nothing without a linker: they then come from their own files."""
    try:
        content = _linked(kernels)
    except UsageError:
        return
    digest = hashlib.sha256(content).hexdigest()
    signatures = {each.name: signature(each) for each in kernels}
    manifest = Manifest(digest_of(sources), _stamps(sources), _processor(), digest, signatures)
    store.keep_file(manifest.file, content)
    store.keep_file(MANIFEST, msgspec.json.encode(manifest))


def _linked(kernels: Sequence[Kernel]) -> bytes:
    import tempfile

    from cauce.scan.native.bundling import link

    with tempfile.TemporaryDirectory() as folder:
        objects, library = Path(folder, "objects"), Path(folder, "library.so")
        objects.mkdir()
        for each in kernels:
            (objects / f"{each.name}.o").write_bytes(store.object_file(each))
        link(objects, library)
        return library.read_bytes()


def _manifest(folder: Path) -> Manifest | None:
    data = store.read_trusted(folder / MANIFEST)
    try:
        return None if data is None else msgspec.json.decode(data, type=Manifest)
    except msgspec.MsgspecError:
        return None


def _is_intact(path: Path, digest: str) -> bool:
    content = store.read_trusted(path)
    return content is not None and hashlib.sha256(content).hexdigest() == digest


def _stamps(folder: Path) -> str:
    paths = sorted(f"{below}/{name}" for below, _, names in os.walk(folder) for name in names if name.endswith(".py"))
    found = [(path, each.st_mtime_ns, each.st_size) for path, each in zip(paths, map(os.stat, paths), strict=True)]
    return hashlib.sha256(repr(found).encode()).hexdigest()


def _processor() -> str:
    shown = " ".join([platform.machine(), *sorted(processor_flags())])
    return hashlib.sha256(shown.encode()).hexdigest()


@lru_cache(maxsize=1)
def own() -> LinkedKernels:
    """The library of this clone."""
    return LinkedKernels(store.trusted_folders())
