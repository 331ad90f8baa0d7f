"""Folders of jobs: they appear and vanish whole, and nothing brings them back."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from cauce.errors import FabricError
from cauce.fabric.files import FilesFabric
from tests.conformance.worlds import drain
from tests.fabric.segments import RECORDS


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a/b", "../a", "a b", "ñ", "a\0", "a\n", "x" * 101])
def test_bad_names_are_refused(fabric: FilesFabric, tmp_path: Path, name: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    for step in (
        lambda: fabric.create_job(name, b""),
        lambda: fabric.manifest(name),
        lambda: fabric.delete_job(name),
        lambda: fabric.append(name, "log", RECORDS),
        lambda: fabric.append("j", name, RECORDS),
        lambda: fabric.append("unknown", name, RECORDS),
        lambda: fabric.read("j", name, {}, 1),
        lambda: fabric.offer("j", name, ["a"]),
        lambda: fabric.offer("j", "q", ["a", name]),
        lambda: fabric.take("j", name),
    ):
        with pytest.raises(FabricError, match="cannot name a"):
            step()
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["a", "A-b_c.9", "-", "_", "x" * 100])
def test_good_names_are_taken(fabric: FilesFabric, name: str) -> None:
    fabric.create_job(name, b"m")
    fabric.append(name, name, RECORDS)
    fabric.offer(name, name, [name])
    lease = fabric.take(name, name)
    assert lease is not None
    assert lease.task == name
    assert drain(fabric, name, name)[0] == RECORDS


def test_nothing_brings_a_deleted_jobs_folder_back(fabric: FilesFabric, tmp_path: Path) -> None:
    fabric.append("j", "log", RECORDS)
    fabric.offer("j", "q", ["a", "b"])
    lease = fabric.take("j", "q")
    assert lease is not None
    FilesFabric(tmp_path).delete_job("j")
    fabric.append("j", "log", RECORDS)
    fabric.append("j", "log-2", RECORDS)
    fabric.offer("j", "q", ["a", "c"])
    fabric.read("j", "log", {}, 1)
    assert fabric.take("j", "q") is None
    lease.done()
    assert list((tmp_path / "jobs").iterdir()) == []
    assert list((tmp_path / "trash").iterdir()) == []


def test_jobs_created_within_one_tick_keep_their_order(
    fabric: FilesFabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_ns = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now_ns)
    created = ["z", "b", "m", "a"]
    for job in created:
        fabric.create_job(job, b"")
    times = [(tmp_path / "jobs" / job / "manifest.json").stat().st_mtime_ns for job in created]
    assert times == [now_ns + count for count in range(4)]
    assert fabric.jobs() == ["j", *created]


def test_an_append_finds_the_job_that_was_created_anew_meanwhile(
    fabric: FilesFabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mkdir = os.mkdir
    other = FilesFabric(tmp_path)

    def overtaken(path: str, mode: int = 0o777) -> None:
        monkeypatch.setattr(os, "mkdir", mkdir)
        other.delete_job("j")
        try:
            mkdir(path, mode)
        finally:
            other.create_job("j", b"anew")

    monkeypatch.setattr(os, "mkdir", overtaken)
    fabric.append("j", "log", RECORDS)
    assert drain(other, "j", "log")[0] == RECORDS
    other.close()


def test_a_log_folder_that_is_lost_is_an_error(fabric: FilesFabric, tmp_path: Path) -> None:
    (tmp_path / "jobs" / "j" / "logs").rmdir()
    with pytest.raises(FabricError, match="appending to log log of job j"):
        fabric.append("j", "log", RECORDS)


def test_what_dead_processes_left_in_the_trash_is_swept_at_the_start(tmp_path: Path) -> None:
    FilesFabric(tmp_path).close()
    trash = tmp_path / "trash"
    for name in ("half-removed.gone", "given-up.new", "being-built.new"):
        (trash / name / "logs" / "log").mkdir(parents=True)
        (trash / name / "logs" / "log" / "segment").write_bytes(b"x")
    os.utime(trash / "given-up.new", (0, 0))
    FilesFabric(tmp_path).close()
    assert [path.name for path in trash.iterdir()] == ["being-built.new"]


def test_the_job_that_is_first_in_place_stands(
    fabric: FilesFabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.rename

    def overtaken(source: str, target: str) -> None:
        monkeypatch.setattr(os, "rename", rename)
        assert FilesFabric(tmp_path).create_job("k", b"faster") == b"faster"
        rename(source, target)

    monkeypatch.setattr(os, "rename", overtaken)
    assert fabric.create_job("k", b"slower") == b"faster"
    assert fabric.manifest("k") == b"faster"
    assert list((tmp_path / "trash").iterdir()) == []


def test_a_job_swept_away_while_it_is_built_is_built_again(
    fabric: FilesFabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.rename

    def swept(source: str, target: str) -> None:
        monkeypatch.setattr(os, "rename", rename)
        os.utime(source, (0, 0))
        FilesFabric(tmp_path).close()
        assert not os.path.exists(source)
        rename(source, target)

    monkeypatch.setattr(os, "rename", swept)
    assert fabric.create_job("k", b"whole") == b"whole"
    assert fabric.manifest("k") == b"whole"


def test_strangers_among_the_jobs_are_passed_over(fabric: FilesFabric, tmp_path: Path) -> None:
    (tmp_path / "jobs" / "notes.txt").write_text("")
    (tmp_path / "jobs" / "empty").mkdir()
    assert fabric.jobs() == ["j"]
    assert fabric.manifest("notes.txt") is None
    assert fabric.read("notes.txt", "log", {}, 1).records == []
    assert fabric.create_job("empty", b"m") == b"m"


def test_a_root_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FabricError, match="opening the folder of all jobs"):
        FilesFabric(tmp_path / "file" / "root")
