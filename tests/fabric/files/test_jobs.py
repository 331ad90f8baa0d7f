"""Job directories are created and deleted atomically and never recreated."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from cauce.errors import FabricError, JobGone
from cauce.fabric.contract import START
from cauce.fabric.files.disk import unique_name
from cauce.fabric.files.fabric import FilesFabric
from cauce.fabric.names import Log
from cauce.process.private_files import replace_file
from tests.conformance.worlds import drain
from tests.fabric.segments import RECORDS
from tests.flushes import recorded


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a/b", "../a", "a b", "ñ", "a\0", "a\n", "x" * 101])
def test_bad_names_are_refused(fabric: FilesFabric, tmp_path: Path, name: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    for step in (
        lambda: fabric.create_job(name, b""),
        lambda: fabric.manifest(name),
        lambda: fabric.delete_job(name),
        lambda: fabric.append(name, Log("log"), RECORDS),
        lambda: fabric.append("j", Log(name), RECORDS),
        lambda: fabric.enqueue("j", name, ["a"]),
        lambda: fabric.enqueue("j", "q", ["a", name]),
        lambda: fabric.acquire("j", name),
    ):
        with pytest.raises(FabricError, match="invalid name of a"):
            step()
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["a", "A-b_c.9", "-", "_", "x" * 100])
def test_good_names_are_accepted(fabric: FilesFabric, name: str) -> None:
    fabric.create_job(name, b"m")
    fabric.append(name, Log.decode(name), RECORDS)
    fabric.enqueue(name, name, [name])
    lease = fabric.acquire(name, name)
    assert lease is not None
    assert lease.task == name
    assert drain(fabric, name, Log.decode(name))[0] == RECORDS


def test_the_directory_of_a_deleted_job_is_never_recreated(fabric: FilesFabric, tmp_path: Path) -> None:
    fabric.append("j", Log("log"), RECORDS)
    fabric.enqueue("j", "q", ["a", "b"])
    lease = fabric.acquire("j", "q")
    assert lease is not None
    FilesFabric(tmp_path).delete_job("j")
    for log in (Log("log"), Log("log-2")):
        with pytest.raises(JobGone):
            fabric.append("j", log, RECORDS)
    fabric.enqueue("j", "q", ["a", "c"])
    fabric.read("j", Log("log"), START, 1)
    assert fabric.acquire("j", "q") is None
    lease.complete()
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
    fabric.append("j", Log("log"), RECORDS)
    assert drain(other, "j", Log("log"))[0] == RECORDS
    other.close()


def test_a_log_folder_that_is_lost_is_an_error(fabric: FilesFabric, tmp_path: Path) -> None:
    (tmp_path / "jobs" / "j" / "logs").rmdir()
    with pytest.raises(FabricError, match="appending to log log of job j"):
        fabric.append("j", Log("log"), RECORDS)


def test_leftovers_of_crashed_processes_are_removed_at_the_start(tmp_path: Path) -> None:
    FilesFabric(tmp_path).close()
    trash = tmp_path / "trash"
    removed, given_up, being_built = (f"{unique_name()}{end}" for end in (".gone", ".new", ".new"))
    for name in (removed, given_up, being_built):
        (trash / name / "logs" / "log").mkdir(parents=True)
        (trash / name / "logs" / "log" / "segment").write_bytes(b"x")
    os.utime(trash / given_up, (0, 0))
    FilesFabric(tmp_path).close()
    assert [path.name for path in trash.iterdir()] == [being_built]


def test_files_of_others_in_the_trash_are_not_swept(tmp_path: Path) -> None:
    strangers = [tmp_path / "trash" / name for name in ("photos", "old.new", "letters.gone")]
    for stranger in strangers:
        stranger.mkdir(parents=True)
        os.utime(stranger, (0, 0))
    FilesFabric(tmp_path)
    assert all(stranger.is_dir() for stranger in strangers)


@pytest.mark.parametrize("name", ["jobs", "trash"])
def test_a_linked_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FabricError, match="is a symbolic link"):
        FilesFabric(tmp_path / "root")


def test_the_first_job_in_place_wins(fabric: FilesFabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_foreign_entries_among_the_jobs_are_ignored(fabric: FilesFabric, tmp_path: Path) -> None:
    (tmp_path / "jobs" / "notes.txt").write_text("")
    (tmp_path / "jobs" / "empty").mkdir()
    assert fabric.jobs() == ["j"]
    assert fabric.manifest("notes.txt") is None
    assert fabric.read("notes.txt", Log("log"), START, 1).records == []
    assert fabric.create_job("empty", b"m") == b"m"


def test_an_invalid_root_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FabricError, match="opening the job directory"):
        FilesFabric(tmp_path / "file" / "root")


def test_with_power_the_folders_above_the_root_are_forced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = recorded(monkeypatch)
    root = tmp_path / "new" / "root"
    FilesFabric(root, durability="power").close()
    forced = [path for what, path in calls if what == "fsync"]
    assert forced[: len(root.parents) + 1] == [str(path) for path in (root, *root.parents)]
    assert forced[-1] == str(root), "the version of the folder is not forced"


def test_with_power_the_note_of_a_trimmed_job_is_forced_before_its_logs_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fabric = FilesFabric(tmp_path, durability="power")
    fabric.create_job("j", b"m")
    fabric.append("j", Log("gone"), RECORDS)
    calls = recorded(monkeypatch)
    fabric.trim("j", [Log("kept")])
    fabric.close()
    job = tmp_path / "jobs" / "j"
    # The last call looks for temporary files, of which there are none.
    (first, note), second, third, (fourth, trash), _ = calls
    assert (first, note.startswith(f"{job}/.trimmed.")) == ("fsync", True)
    assert (second, third) == (("rename", str(job / "trimmed")), ("fsync", str(job)))
    assert (fourth, trash.startswith(str(tmp_path / "trash"))) == ("rename", True)


def test_a_job_is_trimmed_without_space_for_its_note(
    fabric: FilesFabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is space for the note once the logs are removed."""
    for name in ("gone", "kept"):
        fabric.append("j", Log(name), RECORDS)
    logs = tmp_path / "jobs" / "j" / "logs"

    def replace(path: Path, data: bytes, *, durable: bool = False) -> None:
        if (logs / Log("gone").encode()).exists():
            raise OSError(errno.ENOSPC, "No space left on device")
        replace_file(path, data, durable=durable)

    monkeypatch.setattr("cauce.fabric.files.jobs.replace_file", replace)
    fabric.trim("j", [Log("kept")])
    assert os.listdir(logs) == [Log("kept").encode()]
    fabric.append("j", Log("gone"), RECORDS)
    assert os.listdir(logs) == [Log("kept").encode()], "the note keeps a late worker from creating it again"
