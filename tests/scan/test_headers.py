"""Checks of the columns of a file before it is read."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from cauce.errors import JobFailed, WrongColumns
from cauce.scan.discovery import find_files
from cauce.scan.reader import check_columns
from tests.scan.table_forms import (
    ALL,
    TEXT,
    WRITERS,
    spec,
    write,
)


def check(data: Path, columns: frozenset[str] = ALL, **rules: object) -> None:
    table = spec(**rules)
    for file in find_files(data, table):
        check_columns(file, table, columns)


@pytest.mark.parametrize("encoding", WRITERS)
def test_a_file_with_every_column_passes(tmp_path: Path, encoding: str) -> None:
    WRITERS[encoding](tmp_path / f"t{encoding}")
    check(tmp_path)


def test_missing_columns_are_reported_with_the_existing_ones(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", "Id,name\n")
    with pytest.raises(
        WrongColumns,
        match=r"t\.csv lacks Name, Price; its header has Id, name; .*; did you mean name\?$",
    ):
        check(tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"PK\x03\x04\x14\x00\x06\x00", b"\x1f\x8b\x08\x00\x00\x00", b"\xff\xfeI\x00d\x00\n\x00", b"PAR1\x15\x04\x15"],
    ids=["zip", "gzip", "utf-16", "parquet"],
)
def test_a_file_that_is_not_text_is_reported_without_its_bytes(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(WrongColumns, match=r"^t\.csv is not a text file.*save it as CSV in UTF-8") as raised:
        check(tmp_path)
    assert str(raised.value).isprintable()


def test_a_column_that_no_query_uses_may_be_missing(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", "Id\n")
    check(tmp_path, frozenset({"id"}))


def test_a_required_column_may_not_be_missing(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", "Id\n")
    with pytest.raises(WrongColumns, match="lacks Name"):
        check(tmp_path, frozenset({"id"}), required=("name",))


def test_a_header_of_one_cell_hints_at_the_delimiter(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", "Id;Name;Price\n")
    with pytest.raises(WrongColumns, match=r"read with delimiter ','"):
        check(tmp_path)


def test_a_duplicate_required_column_is_rejected(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", "Id,Name,Name,Price\n")
    with pytest.raises(WrongColumns, match="more than one column Name"):
        check(tmp_path)


@pytest.mark.parametrize("text", ["", "\ufeff", "\n\n"])
def test_an_empty_file_is_rejected(tmp_path: Path, text: str) -> None:
    write(tmp_path / "t.csv", text)
    with pytest.raises(WrongColumns, match=r"t\.csv is empty"):
        check(tmp_path)


def test_an_empty_compressed_file_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b""))
    with pytest.raises(WrongColumns, match=r"t\.csv\.gz is empty"):
        check(tmp_path)


def test_a_file_that_is_not_parquet_is_rejected_by_name(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"no parquet")
    with pytest.raises(WrongColumns, match=r"t\.parquet cannot be read as Parquet"):
        check(tmp_path)


@pytest.mark.parametrize("encoding", [".csv.gz", ".csv.zst"])
def test_a_file_that_is_not_compressed_is_rejected_by_name(tmp_path: Path, encoding: str) -> None:
    (tmp_path / f"t{encoding}").write_bytes(TEXT.encode())
    with pytest.raises(JobFailed, match=rf"t{encoding} cannot be decompressed"):
        check(tmp_path)
