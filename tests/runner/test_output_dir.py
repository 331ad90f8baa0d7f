"""Files of answers: written by one command at a time, under their names only when they are complete."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cauce.errors import UsageError
from cauce.runner.output_dir import DIRECTORY_LOCK, NewFile, OutputLock, new_file, remove_unfinished


def test_a_directory_is_locked_for_one_command(tmp_path: Path) -> None:
    first = OutputLock.of_directory(tmp_path, "cauce run books")
    with pytest.raises(UsageError, match=rf"is writing to {tmp_path}: cauce run books \(pid {os.getpid()}\); wait"):
        OutputLock.of_directory(tmp_path, "cauce run movies")
    first.close()
    with OutputLock.of_directory(tmp_path, "cauce run movies"):
        pass
    assert os.listdir(tmp_path) == []


def test_a_file_is_not_written_while_another_command_writes_to_its_directory(tmp_path: Path) -> None:
    with (
        OutputLock.of_directory(tmp_path, "cauce run books"),
        pytest.raises(UsageError, match=rf"is writing to {tmp_path}: cauce run books \(pid {os.getpid()}\); wait"),
    ):
        OutputLock.of_file(tmp_path / "q1.csv", "cauce results j")
    assert os.listdir(tmp_path) == []


def test_a_directory_is_not_written_while_another_command_writes_a_file_in_it(tmp_path: Path) -> None:
    with (
        OutputLock.of_file(tmp_path / "q1.csv", "cauce results j"),
        pytest.raises(UsageError, match=rf"is writing to {tmp_path}: cauce results j \(pid {os.getpid()}\); wait"),
    ):
        OutputLock.of_directory(tmp_path, "cauce run books")
    assert os.listdir(tmp_path) == []


def test_different_files_of_a_directory_are_written_concurrently(tmp_path: Path) -> None:
    first = OutputLock.of_file(tmp_path / "q1.csv", "cauce results i")
    with OutputLock.of_file(tmp_path / "q2.csv", "cauce results j"):
        first.close()
        with pytest.raises(UsageError, match="is writing to"):
            OutputLock.of_directory(tmp_path, "cauce run books")
    assert os.listdir(tmp_path) == []


def test_a_refused_file_does_not_lock_its_directory(tmp_path: Path) -> None:
    with OutputLock.of_file(tmp_path / "q1.csv", "cauce results i"), pytest.raises(UsageError, match="results i"):
        OutputLock.of_file(tmp_path / "q1.csv", "cauce results j")
    with OutputLock.of_directory(tmp_path, "cauce run books"):
        pass


def test_a_lock_of_a_directory_that_belongs_to_another_user_does_not_count_for_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = os.open

    def refused(path: Path, *arguments: int) -> int:
        if path.name == DIRECTORY_LOCK:
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *arguments)

    monkeypatch.setattr(os, "open", refused)
    with OutputLock.of_file(tmp_path / "q1.csv", "cauce results j"):
        assert os.listdir(tmp_path) == [".q1.csv.lock"]


def test_a_lock_that_a_killed_command_left_is_taken_over(tmp_path: Path) -> None:
    (tmp_path / DIRECTORY_LOCK).write_text("{")
    with OutputLock.of_directory(tmp_path, "cauce run books"):
        pass
    assert os.listdir(tmp_path) == []


def test_the_lock_is_for_its_owner_alone(tmp_path: Path) -> None:
    with OutputLock.of_directory(tmp_path, "cauce run books"):
        assert (tmp_path / DIRECTORY_LOCK).stat().st_mode & 0o777 == 0o600


def test_a_linked_lock_is_refused(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("precious")
    (tmp_path / DIRECTORY_LOCK).symlink_to(tmp_path / "target")
    with pytest.raises(UsageError, match="cannot write to"):
        OutputLock.of_directory(tmp_path, "cauce run books")
    assert (tmp_path / "target").read_text() == "precious"


def test_two_writers_of_one_file_have_separate_temporary_files(tmp_path: Path) -> None:
    first, second = NewFile(tmp_path / "q1.csv"), NewFile(tmp_path / "q1.csv")
    for each, content in ((first, b"first" * 100), (second, b"second")):
        each.file.write(content)
    first.finish()
    assert (tmp_path / "q1.csv").read_bytes() == b"first" * 100
    second.finish()
    assert (tmp_path / "q1.csv").read_bytes() == b"second"


def test_an_answer_has_the_usual_permissions(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with new_file(tmp_path / "q1.csv"):
            pass
    finally:
        os.umask(before)
    assert (tmp_path / "q1.csv").stat().st_mode & 0o777 == 0o644


def test_a_block_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "q1.csv").write_text("before")
    with pytest.raises(TypeError), new_file(tmp_path / "q1.csv") as file:
        file.writelines([b"half", 1])  # type: ignore[list-item]
    assert os.listdir(tmp_path) == ["q1.csv"]
    assert (tmp_path / "q1.csv").read_text() == "before"


def test_only_temporary_files_of_the_file_itself_are_removed(tmp_path: Path) -> None:
    NewFile(tmp_path / "q1.csv").file.close()
    others = {".q1.csv.part", ".q2.csv.0123456789abcdef.part", "q1.csv.0123456789abcdef.part", ".q1.csv.notes.part"}
    for name in others:
        (tmp_path / name).touch()
    remove_unfinished(tmp_path / "q1.csv")
    assert set(os.listdir(tmp_path)) == others
