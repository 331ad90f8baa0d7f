"""The work directory of a run: locked by one run at a time, and nothing beside it is touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cauce.errors import UsageError
from cauce.fabric.files.fabric import FilesFabric
from cauce.fabric.records import Kind, record
from cauce.process.private_files import TAG
from cauce.runner.work_dir import NAME, TINY_BYTES, WorkFolder, is_tiny


def test_removing_it_keeps_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    folder = WorkFolder(tmp_path)
    (folder.path / "jobs").mkdir()
    folder.remove()
    assert [path.name for path in tmp_path.iterdir()] == ["precious.txt"]


def test_removing_it_keeps_files_in_it_that_are_not_of_a_run(tmp_path: Path) -> None:
    folder = WorkFolder(tmp_path)
    (folder.path / "jobs").mkdir()
    (folder.path / "precious.txt").write_text("mine")
    folder.remove()
    assert not (folder.path / "jobs").exists()
    assert (folder.path / "precious.txt").read_text() == "mine"


def test_everything_in_it_is_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = WorkFolder(tmp_path)
        fabric = FilesFabric(folder.path)
        fabric.create_job("j", b"{}")
        fabric.enqueue("j", "q", ["t"])
        fabric.append("j", "log", [record(Kind.DATA, 1, 0, b"x")])
        assert fabric.acquire("j", "q") is not None
        modes = {path.lstat().st_mode & 0o777 for path in (folder.path, *folder.path.rglob("*"))}
        files = [path for path in folder.path.rglob("*") if path.is_file()]
        fabric.close()
    finally:
        os.umask(before)
    assert modes == {0o700, 0o600}
    assert all(path.lstat().st_mode & 0o777 == 0o600 for path in files)


def test_it_knows_whether_an_earlier_run_left_something(tmp_path: Path) -> None:
    first = WorkFolder(tmp_path)
    assert first.fresh
    first.close()
    assert not WorkFolder(tmp_path).fresh


def test_two_runs_cannot_lock_it(tmp_path: Path) -> None:
    first = WorkFolder(tmp_path)
    with pytest.raises(UsageError, match="another run is already working"):
        WorkFolder(tmp_path)
    first.close()
    WorkFolder(tmp_path).close()


def test_a_folder_that_cannot_be_made_is_refused_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"a file is in the way; move it away, .*--out or --work"):
        WorkFolder(tmp_path / "file")


def test_a_linked_folder_is_refused_and_its_target_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "precious.txt").write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / NAME).symlink_to(tmp_path / "target")
    with pytest.raises(UsageError, match=r"is a symbolic link, .*--out or --work"):
        WorkFolder(tmp_path / "out")
    assert [path.name for path in (tmp_path / "target").iterdir()] == ["precious.txt"]


def test_a_folder_that_is_not_ours_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    (tmp_path / NAME / "precious.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"was not created by this version of Cauce"):
        WorkFolder(tmp_path)
    assert [path.name for path in (tmp_path / NAME).iterdir()] == ["precious.txt"]


@pytest.mark.parametrize("durable", [False, True])
def test_an_interrupted_removal_leaves_no_job_to_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durable: bool
) -> None:
    folder = WorkFolder(tmp_path, durable=durable)
    FilesFabric(folder.path).create_job("j", b"{}")
    synced: list[list[str]] = []
    monkeypatch.setattr("cauce.runner.work_dir.sync_directory", lambda path: synced.append(sorted(os.listdir(path))))

    def interrupt(path: Path, names: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as interrupted:
        interrupted.setattr("cauce.runner.work_dir.remove_claimed", interrupt)
        with pytest.raises(KeyboardInterrupt):
            folder.remove()
    assert [("jobs" in names, "jobs.removed" in names) for names in synced] == [(False, True)] * durable
    folder.close()
    again = WorkFolder(tmp_path)
    fabric = FilesFabric(again.path)
    assert fabric.jobs() == []
    fabric.create_job("j", b"{}")
    fabric.close()
    again.remove()
    assert list(tmp_path.iterdir()) == []


def test_with_durability_the_tag_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.readlink(f"/proc/self/fd/{fd}")))
    WorkFolder(tmp_path, durable=True).close()
    assert synced == [str(tmp_path / NAME / TAG), str(tmp_path / NAME)]


def test_a_few_bytes_are_tiny(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.csv").write_bytes(b"a\n1\n")
    assert is_tiny(tmp_path)


def test_files_are_added_up(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(TINY_BYTES // 2)
    assert not is_tiny(tmp_path)


def test_a_directory_with_many_entries_is_not_tiny(tmp_path: Path) -> None:
    for number in range(1_001):
        (tmp_path / f"{number}").touch()
    assert not is_tiny(tmp_path)
