"""Files are opened without following links anywhere in their path."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cauce.scan.files.nofollow import open_nofollow


def content(path: Path) -> bytes:
    with open(open_nofollow(str(path)), "rb") as file:
        return file.read()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = Path(os.path.realpath(tmp_path))
    (folder / "inner").mkdir()
    (folder / "inner" / "file").write_bytes(b"content")
    return folder


def test_a_file_is_opened_by_its_path(folder: Path) -> None:
    assert content(folder / "inner" / "file") == b"content"


def test_a_link_is_not_followed_in_place_of_the_file(folder: Path) -> None:
    (folder / "link").symlink_to(folder / "inner" / "file")
    with pytest.raises(OSError, match="symbolic links"):
        content(folder / "link")


def test_a_link_is_not_followed_in_place_of_a_folder(folder: Path) -> None:
    (folder / "link").symlink_to(folder / "inner")
    with pytest.raises(NotADirectoryError):
        content(folder / "link" / "file")


def test_no_descriptor_is_left_open_after_an_error(folder: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(FileNotFoundError):
        open_nofollow(str(folder / "inner" / "missing"))
    assert len(os.listdir("/proc/self/fd")) == before
