"""Torn, damaged and truncated segments, and partial writes."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cauce.errors import CorruptRecord, FabricError, FabricFull
from cauce.fabric.contract import START, Position
from cauce.fabric.files import frames
from cauce.fabric.files.fabric import FilesFabric
from cauce.fabric.files.frames import HEADER_BYTES
from cauce.fabric.names import Log
from cauce.fabric.records import Record
from tests.conformance.worlds import drain, names
from tests.fabric.children import Child, fill_up
from tests.fabric.segments import RECORDS, more, only_segment, segments


def frame_of(each: Record) -> bytes:
    return b"".join(frames.frame_of(each))


FRAME = len(frame_of(RECORDS[0]))


@pytest.fixture
def written(fabric: FilesFabric, tmp_path: Path) -> Path:
    """The segment of a log with three records."""
    fabric.append("j", Log("log"), RECORDS)
    segment = only_segment(tmp_path)
    assert segment.stat().st_size == 3 * FRAME
    return segment


@pytest.mark.parametrize("kept", range(FRAME))
def test_a_torn_last_frame_is_not_read(written: Path, tmp_path: Path, kept: int) -> None:
    os.truncate(written, 2 * FRAME + kept)
    reader = FilesFabric(tmp_path)
    found, position = drain(reader, "j", Log("log"))
    assert found == RECORDS[:2]
    assert position == Position({written.name: 2 * FRAME})
    # The next process appends the record again.
    reader.append("j", Log("log"), RECORDS[2:])
    assert drain(reader, "j", Log("log"), position)[0] == RECORDS[2:]
    reader.close()


def test_a_frame_still_being_written_is_read_when_it_is_whole(fabric: FilesFabric, written: Path) -> None:
    data = written.read_bytes()
    os.truncate(written, 2 * FRAME)
    _, position = drain(fabric, "j", Log("log"))
    with written.open("ab", buffering=0) as file:
        for byte in data[2 * FRAME : -1]:
            file.write(bytes([byte]))
            assert fabric.read("j", Log("log"), position, 100).position == position
        file.write(data[-1:])
    assert drain(fabric, "j", Log("log"), position)[0] == RECORDS[2:]


@pytest.mark.parametrize("frame", [0, 1, 2])
@pytest.mark.parametrize("byte", range(FRAME))
def test_a_damaged_byte_is_noticed(written: Path, tmp_path: Path, frame: int, byte: int) -> None:
    data = bytearray(written.read_bytes())
    data[frame * FRAME + byte] ^= 0x10
    written.write_bytes(data)
    reader = FilesFabric(tmp_path)
    with pytest.raises(CorruptRecord, match=f"{written.name} at byte {frame * FRAME}"):
        reader.read("j", Log("log"), START, 1 << 20)
    reader.close()


def test_records_before_the_damage_can_be_read(fabric: FilesFabric, written: Path) -> None:
    data = bytearray(written.read_bytes())
    data[-1] ^= 1
    written.write_bytes(data)
    batch = fabric.read("j", Log("log"), START, 2 * FRAME)
    assert batch.records == RECORDS[:2]
    with pytest.raises(CorruptRecord):
        fabric.read("j", Log("log"), batch.position, 2 * FRAME)


@pytest.mark.parametrize("count", [1, HEADER_BYTES - 1, HEADER_BYTES, 4096, 3_000_000])
def test_zeros_at_the_end_are_not_read(fabric: FilesFabric, written: Path, count: int) -> None:
    os.truncate(written, 3 * FRAME + count)
    found, position = drain(fabric, "j", Log("log"))
    assert found == RECORDS
    assert position == Position({written.name: 3 * FRAME})


def test_zeros_before_records_are_damage(fabric: FilesFabric, written: Path) -> None:
    with written.open("ab") as file:
        file.write(bytes(5000) + frame_of(more(3)))
    with pytest.raises(CorruptRecord, match=f"at byte {3 * FRAME}: zeros"):
        fabric.read("j", Log("log"), START, 1 << 20)


def test_a_truncated_segment_is_detected(fabric: FilesFabric, written: Path) -> None:
    _, position = drain(fabric, "j", Log("log"))
    os.truncate(written, FRAME)
    with pytest.raises(CorruptRecord, match=f"{written.name}: has {FRAME} bytes, and {3 * FRAME} had been read"):
        fabric.read("j", Log("log"), position, 100)


def test_short_writes_are_continued(fabric: FilesFabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:7]))
    fabric.append("j", Log("log"), RECORDS)
    assert drain(fabric, "j", Log("log"))[0] == RECORDS
    assert only_segment(tmp_path).stat().st_size == 3 * FRAME


LARGE = [more(seq, size) for seq, size in enumerate((100_000, 0, 300_000))]


@pytest.mark.parametrize("most", [777, 100_000, 100_036, 1 << 20])
def test_short_writes_of_large_records_are_continued(
    fabric: FilesFabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    def short(fd: int, pieces: list[memoryview]) -> int:
        return os.write(fd, b"".join(pieces)[:most])

    monkeypatch.setattr(os, "writev", short)
    fabric.append("j", Log("log"), LARGE)
    assert drain(fabric, "j", Log("log"))[0] == LARGE


def test_a_large_record_is_not_copied(fabric: FilesFabric, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[object] = []
    write = os.writev

    def keep(fd: int, pieces: list[memoryview]) -> int:
        given.extend(piece.obj for piece in pieces)
        return write(fd, pieces)

    monkeypatch.setattr(os, "writev", keep)
    fabric.append("j", Log("log"), LARGE)
    assert {id(each.body) for each in LARGE if each.body} <= set(map(id, given))
    assert drain(fabric, "j", Log("log"))[0] == LARGE


@pytest.mark.parametrize("size", [10, 100_035, 100_036, 100_100, 400_107])
def test_a_write_of_large_records_that_fails_half_way_leaves_whole_frames_only(
    fabric: FilesFabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    with monkeypatch.context() as patch:
        failing = Failing(size, OSError(errno.EIO, "Input/output error"))
        patch.setattr(os, "writev", lambda fd, pieces: failing(fd, memoryview(b"".join(pieces))))
        with pytest.raises(FabricError, match="check the disk"):
            fabric.append("j", Log("log"), LARGE)
    ends = [sum(len(frame_of(each)) for each in LARGE[:count]) for count in range(4)]
    whole = sum(end <= size for end in ends) - 1
    assert sum(segment.stat().st_size for segment in segments(tmp_path)) == ends[whole]
    assert drain(fabric, "j", Log("log"))[0] == LARGE[:whole]


class Failing:
    """Writes a number of bytes and then fails with the given error."""

    def __init__(self, size: int, problem: BaseException) -> None:
        self._left = size
        self._problem = problem
        self._write = os.write

    def __call__(self, fd: int, data: memoryview) -> int:
        if self._left == 0:
            raise self._problem
        written = self._write(fd, data[: self._left])
        self._left -= written
        return written


@pytest.mark.parametrize("size", [0, 1, FRAME - 1, FRAME, 2 * FRAME + 5, 3 * FRAME])
@pytest.mark.parametrize("earlier", [0, 1])
def test_a_write_that_fails_half_way_leaves_whole_frames_only(
    fabric: FilesFabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, earlier: int
) -> None:
    for seq in range(earlier):
        fabric.append("j", Log("log"), [more(100 + seq)])
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", Failing(size, OSError(errno.EIO, "Input/output error")))
        with pytest.raises(FabricError, match="check the disk"):
            fabric.append("j", Log("log"), [*RECORDS, more(3)])
    whole = size // FRAME
    assert sum(segment.stat().st_size for segment in segments(tmp_path)) == (earlier + whole) * FRAME
    found, position = drain(fabric, "j", Log("log"))
    assert names(found) == names([*RECORDS[:whole], *(more(100 + seq) for seq in range(earlier))])
    fabric.append("j", Log("log"), [more(9)])
    assert drain(fabric, "j", Log("log"), position)[0] == [more(9)]


def test_an_interrupt_while_writing_costs_the_segment_only(
    fabric: FilesFabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", Failing(FRAME + 3, KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            fabric.append("j", Log("log"), RECORDS)
    fabric.append("j", Log("log"), RECORDS[1:])
    assert drain(fabric, "j", Log("log"))[0] == RECORDS
    assert len(segments(tmp_path)) == 2


def test_a_segment_that_cannot_be_truncated_is_not_written_to_again(
    fabric: FilesFabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(fd: int, size: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    fabric.append("j", Log("log"), RECORDS[:1])
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", Failing(3, OSError(errno.EIO, "Input/output error")))
        patch.setattr(os, "ftruncate", refuse)
        with pytest.raises(FabricError):
            fabric.append("j", Log("log"), RECORDS[1:])
    fabric.append("j", Log("log"), RECORDS[1:])
    assert [segment.stat().st_size for segment in segments(tmp_path)] == [FRAME + 3, 2 * FRAME]
    assert drain(fabric, "j", Log("log"))[0] == RECORDS


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 KiB."""
    root = tmp_path / "disk"
    root.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", root], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("only root may mount a small disk; the test with a limit on file sizes runs anyway")
    yield root
    subprocess.run(["umount", root], check=True)


def fill(fabric: FilesFabric, log: Log) -> int:
    """Appends until the disk is full; returns the number of confirmed records."""
    for seq in range(1000):
        try:
            fabric.append("j", log, [more(seq, 5000)])
        except FabricFull:
            return seq
    raise AssertionError("the disk does not fill up")


def test_a_full_disk_loses_no_confirmed_record_and_can_be_recovered(small_disk: Path) -> None:
    fabric = FilesFabric(small_disk)
    fabric.create_job("j", b"{}")
    fabric.create_job("ballast", b"{}")
    fabric.append("ballast", Log("log"), [more(0, 100_000)])
    confirmed = fill(fabric, Log("log"))
    assert confirmed > 10
    with pytest.raises(FabricFull, match=f"no space left in {small_disk}.*free some space there"):
        fabric.append("j", Log("log"), [more(confirmed, 100_000)])
    count = len(segments(small_disk))
    for _ in range(50):
        with pytest.raises(FabricFull):
            fabric.append("j", Log("log"), [more(confirmed, 100_000)])
    assert len(segments(small_disk)) == count
    found, position = drain(fabric, "j", Log("log"))
    assert found == [more(seq, 5000) for seq in range(confirmed)]

    fabric.delete_job("ballast")
    fabric.append("j", Log("log"), [more(confirmed, 50_000)])
    assert drain(fabric, "j", Log("log"), position)[0] == [more(confirmed, 50_000)]
    fabric.close()


def test_a_job_that_finds_no_room_is_not_created(small_disk: Path) -> None:
    fabric = FilesFabric(small_disk)
    with pytest.raises(FabricFull, match="creating job j"):
        fabric.create_job("j", bytes(500_000))
    assert fabric.jobs() == []
    assert list((small_disk / "trash").iterdir()) == []
    fabric.close()


def test_a_file_that_may_not_grow_counts_as_full(fabric: FilesFabric, child: Callable[[], Child]) -> None:
    confirmed, message = child().ask(fill_up, "j", Log("log"), 20_000)
    assert confirmed == 20_000 // len(frame_of(more(0, 1000)))
    assert "no space left" in message
    assert names(drain(fabric, "j", Log("log"))[0]) == [(0, seq) for seq in range(confirmed + 1)]
