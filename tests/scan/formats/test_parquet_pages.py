"""Slices of a row group that are read by their pages: the same rows as all of it, without decoding the others."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cauce.scan.formats.parquet_pages import PageIndex, read_pages

ROWS = 20_000
DAY = datetime.date(2024, 2, 29)
TIME = datetime.datetime(2024, 2, 29, 12, 30, 15, 123456)
COLUMNS = {
    "n": pa.array(range(ROWS)),
    "few": pa.array([f"value {row % 7}" for row in range(ROWS)]),
    "text": pa.array([None if row % 5 == 0 else f"text of row {row}" for row in range(ROWS)], pa.large_string()),
    "flag": pa.array([row % 3 == 0 for row in range(ROWS)]),
    "real": pa.array([None if row % 11 == 0 else row / 7 for row in range(ROWS)]),
    "money": pa.array([decimal.Decimal(row).scaleb(-2) for row in range(ROWS)], pa.decimal128(15, 2)),
    "day": pa.array([DAY + datetime.timedelta(row % 900) for row in range(ROWS)]),
    "time": pa.array([TIME + datetime.timedelta(seconds=row) for row in range(ROWS)], pa.timestamp("us", "UTC")),
    "nothing": pa.nulls(ROWS, pa.int32()),
}
TABLE = pa.table(COLUMNS)
HEADERS = list(COLUMNS)
WRITERS: dict[str, dict[str, Any]] = {
    "snappy": {},
    "zstd": {"compression": "zstd"},
    "plain": {"compression": "none", "use_dictionary": False},
    "second-version": {"data_page_version": "2.0", "compression": "zstd"},
    "page-index": {"write_page_index": True, "write_page_checksum": True},
    "old-times": {"use_deprecated_int96_timestamps": True},
    "without-statistics": {"write_statistics": False, "store_schema": False},
}
SLICES = ((0, 3000), (2999, 6001), (ROWS - 3000, ROWS))


def write(path: Path, **options: Any) -> str:
    pq.write_table(TABLE, path, data_page_size=2048, write_batch_size=256, row_group_size=ROWS, **options)
    return str(path)


@pytest.mark.parametrize("options", WRITERS.values(), ids=WRITERS)
def test_slices_have_the_same_rows_and_types_as_the_row_group(tmp_path: Path, options: dict[str, Any]) -> None:
    path = write(tmp_path / "t.parquet", **options)
    whole = pq.ParquetFile(path).read()
    for start, end in SLICES:
        found = read_pages(path, HEADERS, start, end)
        assert found is not None
        assert found.equals(whole.slice(start, end - start))


def test_slices_of_a_file_of_polars_have_the_same_rows(tmp_path: Path) -> None:
    frame = pl.DataFrame({"n": range(ROWS), "text": [f"text of row {row}" for row in range(ROWS)]})
    path = str(tmp_path / "t.parquet")
    frame.write_parquet(path, row_group_size=ROWS, data_page_size=2048)
    whole = pq.ParquetFile(path).read()
    found = read_pages(path, ["text", "n"], 15_000, 19_000)
    assert found is not None
    assert found.equals(whole.select(["text", "n"]).slice(15_000, 4000))


def test_slices_of_a_later_row_group_have_its_rows(tmp_path: Path) -> None:
    path = str(tmp_path / "t.parquet")
    pq.write_table(TABLE, path, data_page_size=1024, write_batch_size=128, row_group_size=ROWS // 2)
    found = read_pages(path, HEADERS, ROWS // 2 + 1000, ROWS // 2 + 4000)
    assert found is not None
    assert found.equals(TABLE.slice(ROWS // 2 + 1000, 3000))
    assert read_pages(path, HEADERS, ROWS // 2 - 10, ROWS // 2 + 10) is None


def test_a_slice_decodes_no_pages_of_other_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", use_dictionary=False)
    column = PageIndex(path, ["text"], 0).columns[0]
    with open(path, "r+b") as file:
        file.seek(column.offsets[1] - 500)
        file.write(b"\xff" * 500)
    with pytest.raises(OSError, match="orrupt"):
        pq.ParquetFile(path).read(columns=["text"])
    found = read_pages(path, ["text"], ROWS - 3000, ROWS)
    assert found is not None
    assert found.column("text").combine_chunks() == COLUMNS["text"][ROWS - 3000 :]


def test_large_pages_are_not_decoded_for_every_slice(tmp_path: Path) -> None:
    path = str(tmp_path / "t.parquet")
    pq.write_table(TABLE, path, row_group_size=ROWS, data_page_size=1 << 30, max_rows_per_page=ROWS)
    assert read_pages(path, HEADERS, 0, 1000) is None


def test_lists_and_structs_are_not_read_by_their_pages(tmp_path: Path) -> None:
    path = str(tmp_path / "t.parquet")
    lists, structs = [[1, 2]] * ROWS, [{"x": 1}] * ROWS
    pq.write_table(pa.table({"l": lists, "s": structs}), path, data_page_size=1024, write_batch_size=128)
    assert read_pages(path, ["l"], 0, 5000) is None
    assert read_pages(path, ["s"], 0, 5000) is None


def test_a_file_with_damaged_headers_of_pages_is_left_to_the_reader_of_all_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", use_dictionary=False)
    offset = PageIndex(path, ["text"], 0).columns[0].offsets[1]
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(b"\x00" * 40)
    assert read_pages(path, ["text"], 0, 3000) is None
