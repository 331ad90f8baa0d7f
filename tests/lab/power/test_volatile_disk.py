"""The disk as processes use it: system calls of the kernel, and cuts that bite."""

from __future__ import annotations

import mmap
import os
import sys
import time
from pathlib import Path

import pytest

from cauce.lab.power.volatile_disk import Machine, VolatileDisk
from cauce.process.private_files import replace_file, sync_directory

pytestmark = pytest.mark.slow

ENOUGH_S = 30.0


def cut(disk: VolatileDisk) -> None:
    disk.cut(0)
    disk.mount()


def test_a_file_without_fsync_disappears(volatile_disk: VolatileDisk) -> None:
    lost, kept = volatile_disk.folder / "lost", volatile_disk.folder / "kept"
    replace_file(kept, b"kept", durable=True)
    replace_file(lost, b"lost")
    assert lost.read_bytes() == b"lost"
    report = volatile_disk.cut(0)
    assert (report.dropped_bytes, report.dropped_writes, report.dropped_names) == (4, 1, 2)
    volatile_disk.mount()
    assert {path.name: path.read_bytes() for path in volatile_disk.folder.iterdir()} == {"kept": b"kept"}


def test_system_calls_have_their_usual_effects(volatile_disk: VolatileDisk) -> None:
    root = volatile_disk.folder
    large = os.urandom(3_000_000)
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "large").write_bytes(large)
    os.link(root / "a" / "b" / "large", root / "hard")
    os.symlink("hard", root / "soft")
    assert (root / "soft").read_bytes() == large
    assert (root / "hard").stat().st_nlink == 2
    os.rename(root / "a" / "b", root / "c")
    with pytest.raises(OSError, match="not empty"):
        os.rename(root / "a", root / "c")
    with pytest.raises(FileExistsError):
        os.close(os.open(root / "hard", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    os.truncate(root / "hard", 10)
    os.utime(root / "hard", ns=(1, 2_000_000_003))
    assert (root / "c" / "large").read_bytes() == large[:10]
    assert (root / "hard").stat().st_mtime_ns == 2_000_000_003
    for number in range(1000):
        (root / "a" / f"{number:04}").touch()
    assert sorted(os.listdir(root / "a")) == [f"{number:04}" for number in range(1000)]
    with (root / "hard").open("rb") as file:
        (root / "hard").unlink()
        (root / "c" / "large").unlink()
        assert file.read() == large[:10]
        assert os.fstat(file.fileno()).st_nlink == 0


def test_a_mapped_file_is_synced_with_its_pages(volatile_disk: VolatileDisk) -> None:
    path = volatile_disk.folder / "mapped"
    path.write_bytes(bytes(10))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 10) as pages:
        pages[:3] = b"abc"
        os.fsync(file.fileno())
        sync_directory(path.parent)
        pages[3:6] = b"def"
        assert os.pread(file.fileno(), 6, 0) == b"abcdef"
    cut(volatile_disk)
    assert path.read_bytes() == b"abc" + bytes(7)


def test_after_a_freeze_all_processes_wait_and_are_killed(volatile_disk: VolatileDisk, tmp_path: Path) -> None:
    appends = "import os\nwhile True:\n open(os.sys.argv[1], 'ab').write(b'x')\n open(os.sys.argv[2], 'ab').write(b'x')"
    inside, outside = volatile_disk.folder / "inside", tmp_path / "outside"
    volatile_disk.freeze_after(100)
    machine = Machine([sys.executable, "-c", appends, str(inside), str(outside)])
    deadline = time.monotonic() + ENOUGH_S
    while not volatile_disk.status().frozen:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    report = machine.cut_power(volatile_disk, 0, "none")
    assert machine.poll() is not None
    # The first change created the file.
    assert (report.dropped_writes, report.dropped_names) == (99, 1)
    assert 98 <= outside.stat().st_size <= 99
    assert not inside.exists()
