"""The cache of compiled kernels: corrupt files and those of other users are never loaded, but replaced."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

from cauce.scan.native import I8, kernel, store
from cauce.scan.native.kernel import Kernel
from tests.flushes import recorded


def _sum_to(n: int) -> int:
    total = 0
    for i in range(n + 1):
        total += i
    return total


SUM_TO = kernel(I8, I8)(_sum_to)
assert isinstance(SUM_TO, Kernel)


def answer() -> int:
    """Loads the kernel as a new process would, and calls it."""
    assert isinstance(SUM_TO, Kernel)
    SUM_TO.load()
    return SUM_TO(100)


def kept(folder: Path) -> Path:
    (found,) = folder.glob("*.o")
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only cache folder, with a good file in it."""
    cache = tmp_path / "cache"
    monkeypatch.setattr(store, "_folders", lambda: [cache])
    assert answer() == 5050
    return cache


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Returns the number of kernels compiled since the test began."""
    from cauce.scan.native import build

    count = 0
    compile_kernel = build.compile_kernel

    def counting(*given: object) -> tuple[str, bytes]:
        nonlocal count
        count += 1
        return compile_kernel(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(build, "compile_kernel", counting)
    return lambda: count


def test_valid_object_file_is_loaded(folder: Path, compiled: Callable[[], int]) -> None:
    before = compiled()
    assert answer() == 5050
    assert compiled() == before


def test_threads_that_need_a_kernel_at_once_compile_it_once(folder: Path, compiled: Callable[[], int]) -> None:
    kept(folder).unlink()
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda _: answer(), range(4))) == [5050] * 4
    assert compiled() == 1


def test_only_this_user_can_write_the_folder_and_its_files(folder: Path) -> None:
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(kept(folder).stat().st_mode) == 0o600


def test_a_file_is_synced_before_it_is_renamed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = kept(folder)
    path.unlink()
    calls = recorded(monkeypatch)
    assert answer() == 5050
    (written, content), *rest = calls
    assert written == "fsync"
    assert content.startswith(f"{path}.")
    assert rest == [("rename", str(path)), ("fsync", str(folder))]


@pytest.mark.parametrize("size", [0, 1, 14, 20, 47, 60, -1])
def test_a_truncated_file_is_replaced(folder: Path, size: int) -> None:
    path = kept(folder)
    good = path.read_bytes()
    path.write_bytes(good[:size])
    assert answer() == 5050
    assert store._read(path) is not None


@pytest.mark.parametrize("place", [0.0, 0.004, 0.02, 0.1, 0.5, 0.9, 0.9999])
def test_a_file_with_a_flipped_byte_is_replaced(folder: Path, place: float) -> None:
    path = kept(folder)
    good = path.read_bytes()
    bad = bytearray(good)
    bad[int(place * len(good))] ^= 0x41
    path.write_bytes(bad)
    assert answer() == 5050
    assert store._read(path) is not None


def test_a_file_with_a_flipped_byte_is_not_read(folder: Path) -> None:
    """Without running it: changed machine code may do anything."""
    path = kept(folder)
    good = path.read_bytes()
    assert store._read(path) is not None
    for place in (0, len(good) // 2, len(good) - 1):
        bad = bytearray(good)
        bad[place] ^= 0x41
        path.write_bytes(bad)
        assert store._read(path) is None


def test_files_of_other_users_are_not_trusted(folder: Path) -> None:
    found = kept(folder).stat()
    assert store._only_owner_writes(found)
    fields = list(found)
    fields[stat.ST_UID] = 12345
    assert not store._only_owner_writes(os.stat_result(fields))


def test_a_file_that_others_can_write_is_replaced(folder: Path) -> None:
    path = kept(folder)
    path.chmod(0o666)
    assert answer() == 5050
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_replaced(folder: Path) -> None:
    path = kept(folder)
    os.chown(path, 12345, 12345)
    assert answer() == 5050
    assert path.stat().st_uid == os.geteuid()


def test_a_link_is_replaced_by_a_file(folder: Path, tmp_path: Path) -> None:
    path = kept(folder)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert answer() == 5050
    assert not path.is_symlink()


def test_a_folder_that_others_can_write_is_not_used(folder: Path, compiled: Callable[[], int]) -> None:
    path = kept(folder)
    path.write_bytes(b"anything")
    folder.chmod(0o777)
    before = compiled()
    assert answer() == 5050
    assert compiled() == before + 1
    assert path.read_bytes() == b"anything"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_not_used(folder: Path, compiled: Callable[[], int]) -> None:
    os.chown(folder, 12345, 12345)
    before = compiled()
    assert answer() == 5050
    assert compiled() == before + 1


def test_the_next_folder_is_used_if_the_first_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: Callable[[], int]
) -> None:
    wide, own = tmp_path / "wide", tmp_path / "own"
    wide.mkdir()
    wide.chmod(0o777)
    monkeypatch.setattr(store, "_folders", lambda: [wide, own])
    answer()
    before = compiled()
    assert answer() == 5050
    assert compiled() == before
    assert list(wide.iterdir()) == []
    assert kept(own).is_file()


def test_replaced_source_file_does_not_change_the_key_of_loaded_code(tmp_path: Path) -> None:
    file = tmp_path / "constants.py"
    file.write_text("LIMIT = 3\n\n\ndef limit(n):\n    return min(n, LIMIT)\n")
    loaded = kernel(I8, I8)(module_of(file).limit)
    before = store._digest(loaded)
    file.write_text("LIMIT = 40\n\n\ndef limit(n):\n    return min(n, LIMIT)\n")
    assert store._digest(loaded) == before
    assert store._digest(kernel(I8, I8)(module_of(file).limit)) != before


def module_of(file: Path) -> ModuleType:
    module = ModuleType("constants")
    exec(compile(file.read_text(), str(file), "exec"), vars(module))  # noqa: S102
    return module
