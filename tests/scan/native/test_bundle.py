"""The kernels that a wheel brings along: which are used, and when the compiler is used instead."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from cauce.errors import CauceError, UsageError
from cauce.scan.native import F8, I8, VOID, Array, bundle, bundling, kernel, loading, processor
from cauce.scan.native.bundle import Bundle
from cauce.scan.native.kernel import Kernel
from cauce.scan.native.processor import levels, supported_levels

pytestmark = pytest.mark.skipif(not supported_levels(), reason="wheels are not built for this processor")


def _triple(n: int) -> int:
    return n * 3


TRIPLE = kernel(I8, I8)(_triple)
assert isinstance(TRIPLE, Kernel)


def _clear(counts: npt.NDArray[np.int64]) -> None:
    counts[:] = 0


def _power(n: float) -> float:
    return n**0.3


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with one kernel, for the lowest level only."""
    folder = tmp_path_factory.mktemp("bundle")
    objects, compiled, sources = folder / "objects", folder / "compiled", folder / "sources"
    for each in (objects, compiled, sources):
        each.mkdir()
    (sources / "triple.py").write_text("n * 3\n")
    lowest = levels()[0].name
    bundling.compile_objects([TRIPLE], lowest, objects)  # type: ignore[list-item]
    bundling.link(objects, bundle.library(compiled, lowest))
    bundling.write_manifest(compiled, [TRIPLE], sources)  # type: ignore[list-item]
    return folder


@pytest.fixture(autouse=True)
def forgotten_digests() -> None:
    bundle.digest_of.cache_clear()


def opened(made: Path) -> Bundle:
    return Bundle(made / "compiled", made / "sources")


def without_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    monkeypatch.delitem(sys.modules, "cauce.scan.native.store", raising=False)
    monkeypatch.delattr("cauce.scan.native.store", raising=False)


def test_a_bundled_kernel_runs_without_compiler(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "installed", opened(made))
    without_compiler(monkeypatch)
    again = kernel(I8, I8)(_triple)
    assert again(14) == 42


def test_a_lower_level_is_used_if_there_is_no_library_for_the_highest(made: Path) -> None:
    assert opened(made).level == levels()[0].name


def test_the_highest_supported_level_comes_first() -> None:
    flags: set[str] = set()
    for number, level in enumerate(levels(), 1):
        flags |= level.flags
        assert supported_levels(flags) == [each.name for each in reversed(levels()[:number])]


@pytest.mark.skipif(len(levels()) < 2, reason="there is only one level")
def test_a_level_needs_the_features_of_all_lower_ones() -> None:
    assert supported_levels(levels()[-1].flags) == []


def test_a_level_can_be_chosen(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(processor.VARIABLE, levels()[0].name)
    assert opened(made).address_of(TRIPLE) is not None  # type: ignore[arg-type]


def test_a_level_that_the_processor_lacks_is_refused(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(processor.VARIABLE, "x86-64-v9")
    with pytest.raises(UsageError, match=r"CAUCE_PROCESSOR is x86-64-v9, but this processor supports "):
        opened(made)


def linked(folder: Path, made: Kernel) -> Path:
    """The library of one kernel, for the lowest level."""
    objects = folder / "objects"
    objects.mkdir()
    bundling.compile_objects([made], levels()[0].name, objects)
    bundling.link(objects, folder / "one.so")
    return folder / "one.so"


def test_a_kernel_that_clears_memory_can_be_bundled(tmp_path: Path) -> None:
    made = kernel(VOID, Array("int64"))(_clear)
    assert isinstance(made, Kernel)
    assert ctypes.CDLL(str(linked(tmp_path, made)))[made.name]


def test_a_kernel_that_calls_another_library_cannot_be_bundled(tmp_path: Path) -> None:
    made = kernel(F8, F8)(_power)
    assert isinstance(made, Kernel)
    with pytest.raises(UsageError, match="must call nothing outside the bundle, but call pow"):
        linked(tmp_path, made)


def test_a_kernel_from_other_sources_is_not_used(made: Path) -> None:
    source = made / "sources" / "triple.py"
    before = source.read_bytes()
    source.write_text("n * 4\n")
    try:
        assert opened(made).address_of(TRIPLE) is None  # type: ignore[arg-type]
    finally:
        source.write_bytes(before)


def test_a_kernel_with_another_signature_is_not_used(made: Path) -> None:
    assert opened(made).address_of(kernel(F8, F8)(_triple)) is None  # type: ignore[arg-type]


def test_without_a_bundle_kernels_are_compiled(tmp_path: Path) -> None:
    none = Bundle(tmp_path / "missing")
    assert (none.is_valid(), none.address_of(TRIPLE)) == (False, None)  # type: ignore[arg-type]


def test_the_error_without_bundle_and_compiler_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "installed", Bundle(tmp_path))
    without_compiler(monkeypatch)
    with pytest.raises(CauceError, match=r"no compiled kernel .*_triple .*pip install 'cauce\[build\]'"):
        loading.address_of(TRIPLE)  # type: ignore[arg-type]
