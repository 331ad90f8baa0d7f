"""The files fabric as a whole: several processes, descriptors, durability."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cauce.errors import FabricError
from cauce.fabric.contract import START, Fabric, Position
from cauce.fabric.files.fabric import FilesFabric
from cauce.fabric.names import Log
from cauce.fabric.records import Kind, Record, record
from tests.conformance.worlds import data, drain, names
from tests.fabric.children import Child, append, append_before_and_after_fork
from tests.fabric.segments import RECORDS, segments


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_it_keeps_the_contract(fabric: FilesFabric) -> None:
    kept: Fabric = fabric
    assert kept.jobs() == ["j"]


def test_processes_that_append_at_once_lose_nothing(fabric: FilesFabric, child: Callable[[], Child]) -> None:
    writers = [child(), child()]
    for producer, each in enumerate(writers):
        each.start(append, "j", Log("log"), producer, 500)
    position: Position = START
    found: list[Record] = []
    # Read concurrently: an incomplete frame is left for the next read.
    while len(found) < 1000:
        batch = fabric.read("j", Log("log"), position, 50_000)
        found += batch.records
        position = batch.position
    for each in writers:
        each.answer()
    assert names(found) == [(producer, seq) for producer in range(2) for seq in range(500)]
    assert fabric.read("j", Log("log"), position, 1).position == position


def test_records_of_a_killed_process_stay(fabric: FilesFabric, child: Callable[[], Child]) -> None:
    writer = child()
    writer.ask(append, "j", Log("log"), 0, 10)
    writer.start(append, "j", Log("log"), 1, 1_000_000)
    while not any(each.producer == 1 for each in drain(fabric, "j", Log("log"))[0]):
        pass
    writer.kill()
    found, _ = drain(fabric, "j", Log("log"))
    of_each = [[each.seq for each in found if each.producer == producer] for producer in range(2)]
    assert of_each[0] == list(range(10))
    assert of_each[1] == list(range(len(of_each[1])))


def test_a_forked_child_has_a_segment_of_its_own(
    fabric: FilesFabric, child: Callable[[], Child], tmp_path: Path
) -> None:
    child().ask(append_before_and_after_fork, "j", Log("log"))
    found, position = drain(fabric, "j", Log("log"))
    assert names(found) == [(0, 0), (1, 0), (2, 0)]
    assert len(position.offsets) == len(segments(tmp_path)) == 2


def test_writers_do_not_share_a_place_in_the_position(fabric: FilesFabric, tmp_path: Path) -> None:
    fabric.create_job("j", b"")
    for producer in range(10):
        FilesFabric(tmp_path).append("j", Log("log"), data(producer, 0))
    assert len(drain(fabric, "j", Log("log"))[1].offsets) == 10


def test_one_process_writes_one_segment_of_a_log(fabric: FilesFabric, tmp_path: Path) -> None:
    for each in RECORDS:
        fabric.append("j", Log("log"), [each])
    assert len(segments(tmp_path)) == 1


def test_descriptors_are_few_however_many_logs_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cauce.fabric.files.fabric.file_limit", lambda: 1024)
    fabric = FilesFabric(tmp_path)
    fabric.create_job("j", b"m")
    before = open_descriptors()
    for number in range(700):
        fabric.append("j", Log(f"log-{number}"), RECORDS[:1])
        fabric.read("j", Log(f"log-{number}"), START, 1)
    assert open_descriptors() - before <= 600
    for number in range(700):
        fabric.append("j", Log(f"log-{number}"), RECORDS[1:])
        assert len(segments(tmp_path, f"log-{number}")) == 1
        assert drain(fabric, "j", Log(f"log-{number}"))[0] == RECORDS


@pytest.mark.slow
def test_descriptors_do_not_grow_with_jobs_that_come_and_go(fabric: FilesFabric, tmp_path: Path) -> None:
    other = FilesFabric(tmp_path)
    held = []

    def come_and_go(number: int) -> None:
        job = f"job-{number}"
        fabric.create_job(job, b"{}")
        fabric.enqueue(job, "q", ["a", "b"])
        for each in (fabric, other):
            held.append(each.acquire(job, "q"))
            each.append(job, Log("log"), RECORDS)
            drain(each, job, Log("log"))
        fabric.delete_job(job)
        # The other process learns of the deletion by listing the jobs, and releases its leases.
        assert other.jobs() == ["j"]

    come_and_go(0)
    before = open_descriptors()
    for number in range(1, 301):
        come_and_go(number)
    assert open_descriptors() == before
    assert list((tmp_path / "trash").iterdir()) == []
    assert all(held)
    other.close()


def test_closing_leaves_no_descriptors(fabric: FilesFabric, tmp_path: Path) -> None:
    before = open_descriptors()
    other = FilesFabric(tmp_path)
    other.append("j", Log("log"), RECORDS)
    drain(other, "j", Log("log"))
    other.enqueue("j", "q", ["a", "b"])
    assert other.acquire("j", "q") is not None
    assert fabric.acquire("j", "q") is not None
    assert other.acquire("j", "q") is None
    fabric.close()
    other.close()
    other.close()
    assert open_descriptors() <= before


def test_durability_power_syncs_before_it_confirms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []

    def note(sync: Callable[[int], None]) -> Callable[[int], None]:
        def noted(fd: int) -> None:
            synced.append(os.readlink(f"/proc/self/fd/{fd}"))
            sync(fd)

        return noted

    monkeypatch.setattr(os, "fsync", note(os.fsync))
    monkeypatch.setattr(os, "fdatasync", note(os.fdatasync))
    fabric = FilesFabric(tmp_path, durability="power")
    reader = FilesFabric(tmp_path, durability="power")
    jobs = tmp_path / "jobs"
    fabric.create_job("j", b"{}")
    assert synced[-1] == str(jobs)
    fabric.append("j", Log("log"), RECORDS[:1])
    (segment,) = segments(tmp_path)
    assert synced[-3:] == [str(jobs / "j" / "logs"), str(jobs / "j" / "logs" / "log"), str(segment)]
    synced.clear()
    fabric.append("j", Log("log"), RECORDS[1:])
    assert synced == [str(segment)]
    assert drain(reader, "j", Log("log"))[0] == RECORDS
    assert synced == [str(segment)] * 2
    fabric.enqueue("j", "q", ["a"])
    lease = reader.acquire("j", "q")
    assert lease is not None
    lease.complete()
    assert synced[-1] == str(jobs / "j" / "leases" / "q" / "00000000-a")
    fabric.delete_job("j")
    assert synced[-1] == str(jobs)
    fabric.close()
    reader.close()


def test_without_durability_power_nothing_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(fd: int) -> None:
        raise AssertionError("waits for the disk")

    monkeypatch.setattr(os, "fsync", refuse)
    monkeypatch.setattr(os, "fdatasync", refuse)
    fabric = FilesFabric(tmp_path)
    fabric.create_job("j", b"{}")
    fabric.append("j", Log("log"), [record(Kind.DATA, 0, 0, b"x")])
    fabric.enqueue("j", "q", ["a"])
    lease = fabric.acquire("j", "q")
    assert lease is not None
    lease.complete()
    fabric.delete_job("j")
    fabric.close()


def test_files_of_a_job_that_another_process_has_trimmed_are_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cauce.fabric.files.fabric._CHECK_S", 0.0)
    reader, other = FilesFabric(tmp_path), FilesFabric(tmp_path)
    reader.create_job("j", b"m")
    for log in (Log("kept"), Log("gone")):
        reader.append("j", log, RECORDS[:1])
        reader.read("j", log, START, 1)
    other.trim("j", [Log("kept")])
    reader.jobs()
    opened = [os.readlink(f"/proc/self/fd/{each}") for each in os.listdir("/proc/self/fd") if _is_open(each)]
    assert [path for path in opened if str(tmp_path) in path and "(deleted)" in path] == []
    assert drain(reader, "j", Log("kept"))[0] == RECORDS[:1]


def test_a_job_that_becomes_unreadable_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cauce.fabric.files.fabric._CHECK_S", 0.0)
    fabric = FilesFabric(tmp_path)
    for job in ("a", "b"):
        fabric.create_job(job, b"m")
        fabric.append(job, Log("log"), RECORDS[:1])
    fabric.enqueue("a", "q", ["t"])
    lease = fabric.acquire("a", "q")
    (tmp_path / "jobs/a/trimmed").symlink_to("trimmed")
    assert fabric.jobs() == ["a", "b"]
    assert drain(fabric, "b", Log("log"))[0] == RECORDS[:1]
    with pytest.raises(FabricError, match="reading the state of a job"):
        FilesFabric(tmp_path).read("a", Log("log"), START, 1)
    (tmp_path / "jobs/a/trimmed").unlink()
    assert lease is not None
    assert FilesFabric(tmp_path).acquire("a", "q") is None
    lease.complete()


def _is_open(descriptor: str) -> bool:
    return os.path.lexists(f"/proc/self/fd/{descriptor}")
