"""Parquet files with row groups of any size."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cauce.scan.cells.kinds import Integer, Text
from cauce.scan.discovery import find_files
from cauce.scan.formats import parquet, parquet_cursor
from cauce.scan.parts import Part
from cauce.scan.reader import parts_of, read_part
from cauce.scan.tables import Column, TableSpec

SPEC = TableSpec("t", ("t.csv",), {"id": Column("id", Integer()), "text": Column("text", Text())})
ALL = frozenset(SPEC.columns)
ROWS = 400


def write(folder: Path, row_group_size: int, rows: int = ROWS) -> None:
    table = pa.table(
        {"text": [f"text {n}" for n in range(rows)], "id": ["x" if n % 97 == 5 else str(n) for n in range(rows)]}
    )
    pq.write_table(table, folder / "t.parquet", row_group_size=row_group_size)


def read(parts: list[Part]) -> tuple[list[str], list[int]]:
    blocks = [read_part(part, SPEC, ALL, lambda size: np.empty(size, np.uint8)) for part in parts]
    texts = pl.concat([block.column("text", None) for block in blocks]).to_list()
    return texts, pl.concat([block.rejects(ALL) for block in blocks])["line"].to_list()


@pytest.mark.parametrize("large", [100, 4_000, 2**30])
@pytest.mark.parametrize("row_group_size", [1, 7, 300, ROWS])
@pytest.mark.parametrize("part_bytes", [1, 2_000, 2**20])
def test_any_row_groups_give_the_same_rows_and_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row_group_size: int, part_bytes: int, large: int
) -> None:
    monkeypatch.setattr(parquet, "LARGE_ROW_GROUP_BYTES", large)
    write(tmp_path, row_group_size)
    parts = list(parts_of(find_files(tmp_path, SPEC), SPEC, part_bytes))
    assert sum(part.weight for part in parts) == (tmp_path / "t.parquet").stat().st_size
    texts, lines = read(parts)
    assert texts == [f"text {n}" for n in range(ROWS)]
    assert lines == [n + 2 for n in range(ROWS) if n % 97 == 5]


def test_small_row_groups_are_read_together(tmp_path: Path) -> None:
    write(tmp_path, 1)
    assert len(list(parts_of(find_files(tmp_path, SPEC), SPEC))) == 1


def test_a_large_row_group_is_read_in_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "LARGE_ROW_GROUP_BYTES", 1000)
    monkeypatch.setattr(parquet, "SLICE_BYTES", 100)
    write(tmp_path, ROWS)
    parts = list(parts_of(find_files(tmp_path, SPEC), SPEC))
    assert len(parts) > 10
    assert max(part.end - part.start for part in parts) <= ROWS // 10


def test_empty_row_groups_are_skipped(tmp_path: Path) -> None:
    table = pa.table({"text": ["a"], "id": ["1"]})
    with pq.ParquetWriter(tmp_path / "t.parquet", table.schema) as writer:
        for each in (table.slice(0, 0), table, table.slice(0, 0)):
            writer.write_table(each)
    assert read(list(parts_of(find_files(tmp_path, SPEC), SPEC, 1))) == (["a"], [])


def slices(folder: Path, count: int) -> list[Part]:
    """The parts of a file of one row group."""
    write(folder, ROWS)
    whole = next(iter(parts_of(find_files(folder, SPEC), SPEC)))
    bounds = [ROWS * each // count for each in range(count + 1)]
    return [replace(whole, start=low, end=high, first_line=2 + low) for low, high in pairwise(bounds)]


@pytest.mark.parametrize("order", ["ascending", "every other", "descending"])
def test_slices_may_be_read_in_any_order(tmp_path: Path, order: str) -> None:
    parts = slices(tmp_path, 9)
    chosen = {"ascending": parts, "every other": parts[::2], "descending": parts[::-1]}[order]
    texts, lines = read(chosen)
    rows = [n for part in chosen for n in range(part.start, part.end)]
    assert texts == [f"text {n}" for n in rows]
    assert lines == [n + 2 for n in rows if n % 97 == 5]


def test_ascending_slices_decode_each_row_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = slices(tmp_path, 9)
    opened = []
    original = parquet_cursor.Cursor.__init__
    monkeypatch.setattr(parquet_cursor.Cursor, "__init__", lambda *given: (opened.append(given), original(*given))[1])
    read(parts)
    assert len(opened) == 1


def test_slices_of_a_replaced_file_are_those_of_the_new_one(tmp_path: Path) -> None:
    parts = slices(tmp_path, 2)
    read(parts[:1])
    other = pa.table({"text": [f"new {n}" for n in range(ROWS)], "id": ["1"] * ROWS})
    pq.write_table(other, tmp_path / "other", row_group_size=ROWS)
    (tmp_path / "other").rename(tmp_path / "t.parquet")
    assert read(parts[1:])[0] == [f"new {n}" for n in range(parts[1].start, ROWS)]


def test_a_small_part_size_splits_a_row_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "SMALL_ROW_GROUP_BYTES", 1000)
    monkeypatch.setattr(parquet, "SLICE_BYTES", 100)
    write(tmp_path, ROWS)
    files = find_files(tmp_path, SPEC)
    assert len(list(parts_of(files, SPEC, 1000))) > 5
    assert len(list(parts_of(files, SPEC))) == 1


def test_a_slice_is_as_large_as_two_small_parts_or_one_large_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "SMALL_ROW_GROUP_BYTES", 400)
    monkeypatch.setattr(parquet, "SLICE_BYTES", 1000)
    write(tmp_path, ROWS)
    size = pq.read_metadata(tmp_path / "t.parquet").row_group(0).total_byte_size
    counts = [len(list(parts_of(find_files(tmp_path, SPEC), SPEC, part_bytes))) for part_bytes in (100, 300, 700, 1500)]
    assert counts == [-(-size // slice_bytes) for slice_bytes in (200, 600, 1000, 1500)]
