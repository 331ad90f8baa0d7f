"""The kernels of a clone in one library: when they are used, and when each comes from its own file instead."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from cauce.scan.native import F8, I8, bundle, kernel, linked, loading, store
from cauce.scan.native.kernel import Kernel
from cauce.scan.native.linked import LinkedKernels, link_all

pytestmark = pytest.mark.skipif(not (shutil.which("ld") and shutil.which("nm")), reason="there is no linker")


def _twice(n: int) -> int:
    return n * 2


TWICE: Kernel = kernel(I8, I8)(_twice)  # type: ignore[assignment]


class Clone:
    def __init__(self, folder: Path) -> None:
        self.cache, self.sources = folder / "cache", folder / "sources"
        self.sources.mkdir()
        (self.sources / "twice.py").write_text("n * 2\n")

    @property
    def library(self) -> Path:
        (found,) = self.cache.glob("*.so")
        return found

    def opened(self) -> LinkedKernels:
        bundle.digest_of.cache_clear()
        return LinkedKernels(store.trusted_folders(), self.sources)

    def address(self) -> int | None:
        return self.opened().address_of(TWICE)


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clone:
    made = Clone(tmp_path)
    monkeypatch.setattr(store, "_folders", lambda: [made.cache])
    bundle.digest_of.cache_clear()
    link_all([TWICE], made.sources)
    return made


def test_a_linked_kernel_runs_without_the_compiler(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    monkeypatch.setattr(linked, "own", clone.opened)
    monkeypatch.setattr(loading.bundle.installed, "_library", None)
    again = kernel(I8, I8)(_twice)
    assert again(21) == 42


def test_a_kernel_from_other_sources_is_not_used(clone: Clone) -> None:
    (clone.sources / "twice.py").write_text("n * 3\n")
    assert clone.address() is None


def test_a_kernel_with_another_signature_is_not_used(clone: Clone) -> None:
    assert clone.opened().address_of(kernel(F8, F8)(_twice)) is None  # type: ignore[arg-type]


def test_a_library_for_another_processor_is_not_used(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linked, "processor_flags", lambda: frozenset({"another"}))
    assert clone.address() is None


@pytest.mark.parametrize("place", [0.0, 0.5, 0.99])
def test_a_damaged_library_is_not_loaded(clone: Clone, place: float) -> None:
    content = bytearray(clone.library.read_bytes())
    content[int(place * len(content))] ^= 0x41
    clone.library.write_bytes(content)
    assert clone.address() is None


def test_a_library_that_others_can_write_is_not_loaded(clone: Clone) -> None:
    clone.library.chmod(0o666)
    assert clone.address() is None


def test_a_manifest_that_others_can_write_is_not_read(clone: Clone) -> None:
    (clone.cache / linked.MANIFEST).chmod(0o666)
    assert clone.address() is None


def test_a_folder_that_others_can_write_is_not_used(clone: Clone) -> None:
    clone.cache.chmod(0o777)
    assert clone.address() is None


def test_a_damaged_manifest_is_ignored(clone: Clone) -> None:
    (clone.cache / linked.MANIFEST).write_bytes(b"{")
    assert clone.address() is None


def test_a_manifest_cannot_name_a_file_elsewhere(clone: Clone) -> None:
    """The name of the library follows from its digest."""
    found = msgspec.json.decode((clone.cache / linked.MANIFEST).read_bytes(), type=linked.Manifest)
    assert clone.library.name == found.file


def test_only_this_user_can_write_the_library(clone: Clone) -> None:
    assert stat.S_IMODE(clone.library.stat().st_mode) == 0o600


def test_without_a_linker_nothing_is_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_folders", lambda: [tmp_path / "none"])
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.delenv("LD", raising=False)
    link_all([TWICE])
    assert not list((tmp_path / "none").glob("*.so"))


def test_a_process_with_linked_kernels_does_not_load_llvmlite() -> None:
    if not linked.own().is_valid():
        pytest.skip("the kernels of this clone are not linked")
    code = (
        "import sys, numpy as np\nfrom cauce.scan.csv.kernel import count_lines\n"
        "count_lines.load()\nassert 'llvmlite' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
