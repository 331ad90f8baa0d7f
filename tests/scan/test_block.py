"""A part of a table in memory: its columns, usable rows and rejects."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal as PyDecimal

import numpy as np
import polars as pl
import pytest

from cauce.scan.block import RAW_CHARACTERS, Block
from cauce.scan.cells.kinds import Date, Decimal, Integer, Text, TextList
from cauce.scan.csv.block import CsvBlock
from cauce.scan.csv.cut import read_header
from cauce.scan.csv.located import padded
from cauce.scan.formats.frame_block import FrameBlock
from cauce.scan.tables import Column, TableSpec

COLUMNS = {
    "id": Column("Id", Integer()),
    "name": Column("Name", Text()),
    "price": Column("Price", Decimal()),
    "day": Column("Day", Date()),
    "tags": Column("Tags", TextList()),
}
HEADER = "Id,Name,Price,Day,Tags\n"
ALL = frozenset(COLUMNS)


def block_of(text: str | bytes, used: frozenset[str] = ALL, header: str = HEADER, **rules: object) -> Block:
    spec = TableSpec("t", ("t.csv",), COLUMNS, **rules)  # type: ignore[arg-type]
    raw = text.encode() if isinstance(text, str) else text
    head = read_header(header.encode(), spec.delimiter)
    return CsvBlock(spec, "t.csv", head.cells, head.lines + 1, padded(raw), len(raw), used)


def rejects(block: Block, columns: frozenset[str] = ALL) -> list[tuple[object, ...]]:
    return block.rejects(columns).drop("file").rows()


def test_columns_are_found_by_the_names_in_the_header() -> None:
    block = block_of("x,1\ny,2\n", frozenset({"id", "name"}), header="Name,Id\n")
    assert block.column("id", None).to_list() == [1, 2]
    assert block.column("name", None).to_list() == ["x", "y"]


def test_cells_have_the_type_of_their_kind() -> None:
    block = block_of("1,a,2.50,2024-02-29,\"['x', 'y']\"\n")
    assert [block.column(name, None).to_list()[0] for name in COLUMNS] == [
        1,
        "a",
        PyDecimal("2.5"),
        dt.date(2024, 2, 29),
        ["x", "y"],
    ]


def test_an_empty_cell_is_null_and_no_reject() -> None:
    block = block_of(",,,,\n")
    assert [block.column(name, None).to_list() for name in COLUMNS] == [[None]] * 5
    assert rejects(block) == []
    assert block.usable(ALL) is None


def test_a_column_is_built_for_the_rows_asked_for() -> None:
    block = block_of("1,a,,,\n2,b,,,\n3,c,,,\n")
    rows = np.array([2, 0])
    assert block.column("name", rows).to_list() == ["c", "a"]
    assert block.column("id", rows).to_list() == [3, 1]


def test_two_columns_may_read_one_cell() -> None:
    spec = TableSpec("t", ("t.csv",), {"number": Column("Id", Integer()), "text": Column("Id", Text())})
    raw = b"7\nx\n"
    block = CsvBlock(spec, "t.csv", ("Id",), 2, padded(raw), len(raw), frozenset({"number", "text"}))
    assert block.column("number", None).to_list() == [7, None]
    assert block.column("text", None).to_list() == ["7", "x"]


def test_an_unreadable_cell_excludes_its_row_if_its_column_is_used() -> None:
    block = block_of("1,a,,,\nx,b,,,\n3,c,y,,\n")
    used = block.usable(frozenset({"id", "name"}))
    assert used is not None
    assert used.tolist() == [0, 2]
    assert block.usable(frozenset({"name"})) is None


def test_column_sets_with_the_same_usable_rows_share_them() -> None:
    block = block_of("1,a,,,\nx,b,,,\n")
    assert block.usable(frozenset({"id"})) is block.usable(frozenset({"id", "name", "day"}))


def test_an_unreadable_cell_is_a_reject_with_its_line_header_reason_and_text() -> None:
    assert rejects(block_of("1,a,,,\nx,b,,2024-02-30,\n")) == [
        (3, "Day", "not a date (YYYY-MM-DD)", "2024-02-30"),
        (3, "Id", "not an integer", "x"),
    ]


def test_only_the_columns_asked_for_are_reported() -> None:
    assert rejects(block_of("x,b,y,,\n"), frozenset({"price"})) == [(2, "Price", "not a number", "y")]


def test_a_record_with_another_number_of_cells_is_a_reject_with_its_text() -> None:
    assert rejects(block_of("1,a\n1,b,,,\n1,a,,,,\r\n")) == [
        (2, None, "expected 5 cells, found 2", "1,a"),
        (4, None, "expected 5 cells, found 6", "1,a,,,,"),
    ]


def test_record_with_malformed_quotes_rejects_its_line() -> None:
    block = block_of('1,"a"b,,,\n2,c,,,\n')
    assert rejects(block) == [(2, None, "broken quoting", '1,"a"b,,,')]
    assert block.column("id", None).to_list() == [2]


def test_unclosed_quote_rejects_its_line() -> None:
    block = block_of('1,"a,,,\n2,c,,,\n')
    assert rejects(block) == [(2, None, "broken quoting", '1,"a,,,')]
    assert block.column("id", None).to_list() == [2]


def test_the_line_of_a_reject_counts_the_lines_inside_of_cells() -> None:
    assert rejects(block_of('1,"two\nlines",,,\nx,a,,,\n')) == [(4, "Id", "not an integer", "x")]


def test_empty_lines_are_not_records_but_count_as_lines() -> None:
    assert rejects(block_of("\n\r\nx,a,,,\n")) == [(4, "Id", "not an integer", "x")]


def test_doubled_quotes_in_a_reject_show_as_one() -> None:
    assert rejects(block_of('"say ""1""",a,,,\n')) == [(2, "Id", "not an integer", 'say "1"')]


@pytest.mark.parametrize("letter", ["x", "é", "😀"])
def test_text_of_a_reject_is_truncated(letter: str) -> None:
    ((_, _, _, raw),) = rejects(block_of(f"{letter * 600},a,,,\n"))
    assert raw == letter * RAW_CHARACTERS


def test_text_of_a_rejected_record_is_truncated() -> None:
    ((_, _, _, raw),) = rejects(block_of(f"{'x' * 600}\n"))
    assert raw == "x" * RAW_CHARACTERS


def test_invalid_utf8_becomes_replacement_characters_and_the_row_stays() -> None:
    block = block_of(b"1,caf\xe9,,,\n")
    assert block.column("name", None).to_list() == ["caf\ufffd"]
    assert rejects(block) == []


def test_a_row_with_an_empty_required_cell_is_never_usable() -> None:
    block = block_of("1,a,,,\n2,,,,\n,c,,,\n", required=("name", "id"))
    rows = block.usable(frozenset())
    assert rows is not None
    assert rows.tolist() == [0]
    assert rejects(block) == []


def test_a_required_column_need_not_be_used() -> None:
    block = block_of("1,a,,,\n2,,,,\n", frozenset({"id"}), required=("name",))
    rows = block.usable(frozenset({"id"}))
    assert rows is not None
    assert rows.tolist() == [0]


def test_an_unreadable_required_cell_does_not_exclude_its_row_from_queries_that_do_not_use_it() -> None:
    block = block_of("x,a,,,\n", required=("id",))
    assert block.usable(frozenset({"name"})) is None


def test_the_table_s_own_null_is_null_in_every_kind() -> None:
    block = block_of("\\N,\\N,\\N,\\N,\\N\n1,\\n,1,,\n", null="\\N")
    assert [block.column(name, None).to_list()[0] for name in COLUMNS] == [None] * 5
    assert block.column("name", None).to_list()[1] == "\\n"
    assert rejects(block) == []


def test_the_table_s_own_null_does_not_fill_a_required_cell() -> None:
    rows = block_of("1,\\N,,,\n2,b,,,\n", null="\\N", required=("name",)).usable(frozenset())
    assert rows is not None
    assert rows.tolist() == [1]


def test_no_records_are_a_block_with_columns() -> None:
    block = block_of("")
    assert block.height == 0
    assert [block.column(name, None).dtype for name in COLUMNS] == [column.kind.dtype for column in COLUMNS.values()]


# Columnar input.


def frame_block(null: str | None = None, required: tuple[str, ...] = (), **columns: pl.Series) -> Block:
    spec = TableSpec("t", ("t.csv",), COLUMNS, required, null=null)
    return FrameBlock(spec, "t.parquet", 2, columns)


def test_a_typed_column_gives_the_values_that_its_text_would() -> None:
    block = frame_block(Id=pl.Series([1, None]), Price=pl.Series([PyDecimal("2.50"), None], dtype=pl.Decimal(9, 2)))
    assert block.column("id", None).to_list() == [1, None]
    assert block.column("price", None).to_list() == [PyDecimal("2.5"), None]


def test_an_unreadable_value_of_a_column_is_a_reject_by_its_row() -> None:
    block = frame_block(Id=pl.Series(["1", "x"]))
    assert rejects(block, frozenset({"id"})) == [(3, "Id", "not an integer", "x")]


def test_an_empty_text_is_null_in_a_column_too() -> None:
    block = frame_block(Name=pl.Series(["", "a"]), required=("name",))
    assert block.column("name", None).to_list() == [None, "a"]
    rows = block.usable(frozenset())
    assert rows is not None
    assert rows.tolist() == [1]


def test_the_table_s_own_null_holds_in_a_column_too() -> None:
    block = frame_block(Name=pl.Series(["\\N", "a"]), null="\\N")
    assert block.column("name", None).to_list() == [None, "a"]
