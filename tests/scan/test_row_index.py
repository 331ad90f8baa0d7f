"""Indexes of the rows of a part."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cauce.scan.row_index import RowIndex


def index_of(keys: list[int]) -> RowIndex:
    return RowIndex(np.array([0, 5, 9, 20], np.uint32), np.array(keys))


@pytest.mark.parametrize("keys", [[1, -2, 3], [2**40, 0, -(2**62)]])
def test_an_index_that_was_saved_is_loaded(tmp_path: Path, keys: list[int]) -> None:
    index_of(keys).save(tmp_path / "scratch" / "index")
    loaded = RowIndex.load(tmp_path / "scratch" / "index")
    assert loaded is not None
    assert loaded.column("key")["key"].to_list() == keys
    lines = loaded.lines(np.array([0, 2]))
    assert (lines.start.tolist(), lines.length.tolist()) == ([0, 9], [5, 11])
    assert [file.name for file in (tmp_path / "scratch").iterdir()] == ["index"]


def test_an_index_in_a_directory_that_was_removed_is_not_saved(tmp_path: Path) -> None:
    index_of([1, 2, 3]).save(tmp_path / "job" / "scratch" / "index")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [0, 40, 150, 200])
def test_a_damaged_index_is_ignored(tmp_path: Path, size: int) -> None:
    path = tmp_path / "index"
    index_of([1, 2, 3]).save(path)
    path.write_bytes(path.read_bytes()[:size])
    assert RowIndex.load(path) is None


@pytest.mark.parametrize("at", [132, 276])
def test_an_index_with_other_content_is_ignored(tmp_path: Path, at: int) -> None:
    path = tmp_path / "index"
    index_of([1, 2, 3]).save(path)
    data = bytearray(path.read_bytes())
    data[at : at + 4] = b"\1\1\1\1"
    path.write_bytes(data)
    assert RowIndex.load(path) is None


def test_a_missing_index_is_none(tmp_path: Path) -> None:
    assert RowIndex.load(tmp_path / "index") is None
