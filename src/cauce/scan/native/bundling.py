"""Compiles all kernels for every level of processors, and links those of a level to a shared library: the step of the
wheel's build that needs numba and a linker. The same sources and compiler give the same bytes.

    python -m cauce.scan.native.bundling FOLDER
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from cauce.errors import UsageError
from cauce.scan.native.bundle import MANIFEST, SOURCES, Manifest, digest_of, library, signature
from cauce.scan.native.kernel import Kernel, declared
from cauce.scan.native.processor import levels

_LEVEL = "CAUCE_BUNDLE_LEVEL"
"""The level that a child process compiles for."""

_LINKER_OPTIONS = (
    "-shared",
    "--build-id=none",
    "--hash-style=gnu",
    "--strip-all",
    "-znoexecstack",
    "-zrelro",
    "-znow",
)

_FROM_LIBC = frozenset({"memcpy", "memmove", "memset"})
"""What LLVM makes of loops that copy and clear. Every C library has them, and Python has it loaded; as nothing else is
called, the bundle works with all of them."""


def make_bundle(folder: Path) -> None:
    if not levels():
        raise UsageError("kernels cannot be bundled for this kind of processor; on it they are compiled at first use")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        for level in levels():
            objects = Path(temporary, level.name)
            objects.mkdir()
            _compile_in_child(level.name, objects)
            link(objects, library(folder, level.name))
    write_manifest(folder, _kernels(), SOURCES)


def link(objects: Path, target: Path) -> None:
    linker, lister = os.environ.get("LD") or shutil.which("ld"), shutil.which("nm")
    if linker is None or lister is None:
        raise UsageError("the linker ld or the program nm is missing; on Debian: apt-get install binutils")
    subprocess.run([linker, *_LINKER_OPTIONS, "-o", str(target), *sorted(map(str, objects.iterdir()))], check=True)
    listing = subprocess.run(
        [lister, "--dynamic", "--undefined-only", "--format=posix", str(target)], check=True, stdout=subprocess.PIPE
    )
    foreign = sorted({line.split()[0] for line in listing.stdout.decode().splitlines()} - _FROM_LIBC)
    if foreign:
        raise UsageError(f"kernels must call nothing outside the bundle, but call {', '.join(foreign)}")


def write_manifest(folder: Path, kernels: Sequence[Kernel], sources: Path) -> None:
    manifest = Manifest(digest_of(sources), {each.name: signature(each) for each in kernels})
    (folder / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n")


def _compile_in_child(level: str, folder: Path) -> None:
    """In a process of its own: numba reads the processor to compile for when it is imported."""
    chosen = {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": "", "PYTHONHASHSEED": "0", _LEVEL: level}
    subprocess.run([sys.executable, "-m", __spec__.name, str(folder)], env={**os.environ, **chosen}, check=True)


def compile_objects(kernels: Sequence[Kernel], level: str, folder: Path) -> None:
    """Writes one object file for each kernel. numba must have been told the level already."""
    import llvmlite.binding as llvm

    from cauce.scan.native.build import compile_module, export_only

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=level, features="", opt=3, reloc="pic", codemodel="small"
    )
    for each in kernels:
        symbol, module = compile_module(each)
        export_only(module, symbol, each.name)
        (folder / f"{each.name}.o").write_bytes(machine.emit_object(module))


def _kernels() -> list[Kernel]:
    from cauce.scan import warm_up

    assert warm_up.__all__
    return sorted(declared, key=lambda each: each.name)


def main(arguments: Sequence[str]) -> int:
    (folder,) = arguments
    level = os.environ.get(_LEVEL)
    if level:
        compile_objects(_kernels(), level, Path(folder))
    else:
        make_bundle(Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
