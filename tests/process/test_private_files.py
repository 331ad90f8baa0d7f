"""Directories and files for their owner alone, and the removal of nothing but what Cauce created."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cauce.errors import UsageError
from cauce.process.private_files import (
    TAG,
    check_acting_user,
    claim,
    create,
    make_directory,
    remove_claimed,
    replace_file,
    sync_with_parents,
    too_wide,
)
from tests.flushes import Call, recorded

ADVICE = "choose another"


@pytest.fixture(params=[0o000, 0o022])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_directory_is_private_and_its_parents_have_the_usual_permissions(tmp_path: Path, umask: int) -> None:
    make_directory(tmp_path / "parent" / "ours")
    assert mode_of(tmp_path / "parent" / "ours") == 0o700
    assert mode_of(tmp_path / "parent") == 0o777 & ~umask


def test_a_file_is_private(tmp_path: Path, umask: int) -> None:
    replace_file(tmp_path / "file", b"secret")
    assert mode_of(tmp_path / "file") == 0o600
    assert os.listdir(tmp_path) == ["file"]


def test_a_link_is_not_taken_for_a_directory(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(UsageError, match="is a symbolic link"):
        make_directory(tmp_path / "link")


@pytest.mark.parametrize("kind", ["file", "link", "dangling link"])
def test_a_file_is_not_created_where_another_or_a_link_is(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "target"
    if kind != "dangling link":
        target.write_bytes(b"theirs")
    path = target if kind == "file" else tmp_path / "link"
    if kind != "file":
        path.symlink_to(target)
    with pytest.raises(FileExistsError):
        create(path)
    assert target.exists() == (kind != "dangling link")
    assert kind == "dangling link" or target.read_bytes() == b"theirs"


def test_a_file_replaces_a_link_and_not_its_target(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"theirs")
    (tmp_path / "file").symlink_to(tmp_path / "target")
    replace_file(tmp_path / "file", b"ours")
    assert (tmp_path / "target").read_bytes() == b"theirs"
    assert (tmp_path / "file").read_bytes() == b"ours"


def test_a_wide_directory_is_reported_with_its_mode_and_the_remedy(tmp_path: Path) -> None:
    wide = tmp_path / "a b"
    wide.mkdir()
    wide.chmod(0o750)
    warning = too_wide(wide)
    assert warning is not None
    assert "mode is 750" in warning
    assert warning.endswith(f"chmod -R go= '{wide}'")
    wide.chmod(0o700)
    assert too_wide(wide) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act for another user")
def test_root_must_act_as_the_owner(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)
    with pytest.raises(UsageError, match="belongs to user nobody; run this command as that user"):
        check_acting_user(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can create a directory of another user")
def test_a_directory_of_another_user_is_not_claimed(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", 65534, 65534)
    with pytest.raises(UsageError, match=f"belongs to user nobody; {ADVICE}"):
        claim(tmp_path / "theirs", ADVICE)


def test_a_directory_with_other_files_is_not_claimed(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    with pytest.raises(UsageError, match="was not created by this version of Cauce"):
        claim(tmp_path, ADVICE)
    assert os.listdir(tmp_path) == ["precious"]


@pytest.mark.parametrize("left", [b"", b"Created by"])
def test_a_directory_whose_tag_was_cut_off_by_a_kill_is_claimed_again(tmp_path: Path, left: bytes) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / TAG).write_bytes(left)
    claim(tmp_path / "ours", ADVICE)
    remove_claimed(tmp_path / "ours", [])
    assert os.listdir(tmp_path) == []


def test_a_claimed_directory_is_removed_with_the_named_entries(tmp_path: Path) -> None:
    claim(tmp_path / "ours", ADVICE)
    (tmp_path / "ours" / "jobs" / "j").mkdir(parents=True)
    remove_claimed(tmp_path / "ours", ["jobs", "trash"])
    assert os.listdir(tmp_path) == []


def test_a_claimed_directory_with_other_files_stays_with_them(tmp_path: Path) -> None:
    claim(tmp_path / "ours", ADVICE)
    (tmp_path / "ours" / "jobs").mkdir()
    (tmp_path / "ours" / "precious").touch()
    remove_claimed(tmp_path / "ours", ["jobs"])
    assert sorted(os.listdir(tmp_path / "ours")) == [TAG, "precious"]
    claim(tmp_path / "ours", ADVICE)


def test_a_directory_that_was_not_claimed_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "theirs" / "jobs").mkdir(parents=True)
    remove_claimed(tmp_path / "theirs", ["jobs"])
    assert (tmp_path / "theirs" / "jobs").is_dir()


def test_a_linked_entry_is_removed_and_not_its_target(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "precious").touch()
    claim(tmp_path / "ours", ADVICE)
    (tmp_path / "ours" / "jobs").symlink_to(tmp_path / "target")
    remove_claimed(tmp_path / "ours", ["jobs"])
    assert sorted(os.listdir(tmp_path)) == ["target"]
    assert os.listdir(tmp_path / "target") == ["precious"]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    return recorded(monkeypatch)


def test_a_durable_file_is_forced_then_renamed_then_its_directory_is_forced(tmp_path: Path, calls: list[Call]) -> None:
    replace_file(tmp_path / "file", b"x", durable=True)
    (first, forced), *rest = calls
    assert first == "fsync"
    assert forced.startswith(f"{tmp_path}/.file.")
    assert rest == [("rename", str(tmp_path / "file")), ("fsync", str(tmp_path))]


def test_a_file_that_need_not_be_durable_costs_no_flush(tmp_path: Path, calls: list[Call]) -> None:
    replace_file(tmp_path / "file", b"x")
    assert calls == [("rename", str(tmp_path / "file"))]


def test_a_directory_is_forced_with_everything_above_it(tmp_path: Path, calls: list[Call]) -> None:
    sync_with_parents(tmp_path)
    assert calls == [("fsync", str(path)) for path in (tmp_path, *tmp_path.parents)]
