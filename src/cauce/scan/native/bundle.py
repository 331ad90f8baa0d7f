"""The kernels that a wheel brings along: one shared library for each level of processors, and a manifest.

A clone of the project has none; there, kernels are compiled on their first call. The library is opened when this
module is imported: if the files of the package are replaced later, this process keeps the code that fits its own.
"""

from __future__ import annotations

import ctypes
import hashlib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cauce.scan.native.processor import wanted_levels

if TYPE_CHECKING:
    from cauce.scan.native.kernel import Kernel

FOLDER = Path(__file__).parent / "compiled"
MANIFEST = "kernels.json"
SOURCES = Path(__file__).parents[1]
"""Holds the sources of all kernels, and of everything that is compiled into them."""


class Manifest(msgspec.Struct, frozen=True):
    sources: str
    """The digest of the sources that the kernels were compiled from."""
    kernels: dict[str, str]
    """Their signatures by name."""


class Bundle:
    """The libraries in one folder, or none if there is no such folder or none of them suits the processor."""

    def __init__(self, folder: Path, sources: Path = SOURCES) -> None:
        self._sources = sources
        self._library: ctypes.CDLL | None = None
        try:
            self._manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
        except FileNotFoundError:
            return
        for level in wanted_levels():
            if (path := library(folder, level)).is_file():
                self.level = level
                self._library = ctypes.CDLL(str(path))
                break

    def address_of(self, kernel: Kernel) -> int | None:
        """None if the bundle does not have the kernel, or has it from other sources."""
        if self._library is None or not self.is_valid() or self._manifest.kernels.get(kernel.name) != signature(kernel):
            return None
        return ctypes.cast(self._library[kernel.name], ctypes.c_void_p).value

    def is_valid(self) -> bool:
        """Whether there is a library for this processor, compiled from the sources beside it."""
        return self._library is not None and digest_of(self._sources) == self._manifest.sources


def library(folder: Path, level: str) -> Path:
    return folder / f"{level}.so"


def signature(kernel: Kernel) -> str:
    return repr((kernel.result, kernel.arguments))


@lru_cache(maxsize=2)
def digest_of(folder: Path) -> str:
    """Of all source files in a folder, with their names."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()


installed = Bundle(FOLDER)
"""The bundle of this installation."""
