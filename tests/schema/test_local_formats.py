"""Formats of numbers and dates of one country: found in text columns, and converted by the SQL that is suggested."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import polars as pl
import pytest

import cauce
from cauce.schema import find_tables, infer
from cauce.schema.column_types import different
from cauce.schema.local_formats import garbled_text, local_format

COLUMNS = {
    "decimal commas": ["12,50", "1234,5", "-0,25"],
    "decimal commas and dots between thousands": ["1.234,56", "12,5", "1.000.000,00"],
    "commas between thousands": ["1,234.56", "12", "-1,000,000.5"],
    "dates in the format %d.%m.%Y": ["31.12.2024", "1.2.2025"],
    "dates in the format %d/%m/%Y": ["31/12/2024", "01/02/2025"],
    "dates in the format %m/%d/%Y": ["12/31/2024", "01/02/2025"],
    "dates in the format %Y/%m/%d": ["2024/12/31", "2025/01/02"],
}


@pytest.mark.parametrize("words", COLUMNS)
def test_a_format_is_found(words: str) -> None:
    found = local_format(pl.Series(COLUMNS[words]))
    assert found is not None
    assert (found.words, found.example) == (words, COLUMNS[words][0])


@pytest.mark.parametrize("words", COLUMNS)
def test_the_suggested_sql_gives_what_duckdb_gives(words: str) -> None:
    cells = pl.DataFrame({"my column": COLUMNS[words]})
    found = local_format(cells["my column"])
    assert found is not None
    converted = found.sql.format('"my column"')
    statement = f"SELECT {converted} AS value FROM cells ORDER BY value"
    expected = duckdb.sql(statement).fetchall()
    assert cauce.sql(statement, {"cells": cells})["q1"].rows() == expected


@pytest.mark.parametrize("cells", [["a", "b"], ["2024-12-31"], ["10:30"], ["1.2.3.4"], ["001,2,3"], [], [None]])
def test_other_texts_have_none(cells: list[str | None]) -> None:
    assert local_format(different(pl.Series(cells, dtype=pl.String))) is None


@pytest.mark.parametrize(
    ("cells", "function"), [([f"{n},5" for n in range(30)], "TRY_CAST"), (["01.02.2025"] * 2, "try_strptime")]
)
def test_a_few_other_cells_become_null(cells: list[str], function: str) -> None:
    many = [cell.replace("01.", f"{n % 28 + 1:02}.") for n, cell in enumerate(cells * 15)]
    found = local_format(different(pl.Series([*many, "unknown"])))
    assert found is not None
    assert function in found.sql


def test_text_that_is_not_utf8_is_shown_in_both_encodings() -> None:
    piece = "name,city\nMüller,Köln\n".encode("cp1252")
    assert garbled_text([b"plain", piece]) == "'Müller' in Windows-1252 is read as 'M\ufffdller'"
    assert garbled_text(["Müller".encode()]) is None


def test_names_of_columns_that_are_not_utf8_are_read_as_windows_1252(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("Año;Größe;€\n2024;1;2\n".encode("cp1252"))
    (table,) = find_tables(tmp_path)
    found = infer(table)
    assert [column.name for column in found.schema.columns] == ["Año", "Größe", "€"]
    assert found.notes == ()


def test_remarks_name_the_column_and_the_file(tmp_path: Path) -> None:
    (tmp_path / "my orders.csv").write_bytes("who;Amount (EUR)\nMüller;1,50\n".encode("cp1252"))
    (table,) = find_tables(tmp_path)
    encoding, column = infer(table).notes
    path = f"'{tmp_path}/my orders.csv'"
    assert re.search("my orders.csv is not UTF-8, and 'Müller' in Windows-1252 is read as 'M\ufffdller'", encoding)
    assert encoding.endswith(f": iconv -f WINDOWS-1252 -t UTF-8 {path} > utf8.tmp && mv utf8.tmp {path}")
    assert column == (
        "my orders: column Amount (EUR) has decimal commas, such as '1,50'; "
        """in SQL: CAST(replace("Amount (EUR)", ',', '.') AS DECIMAL(18,2))"""
    )


def test_a_file_in_two_encodings_is_not_converted_as_if_it_had_one(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"id,who\n" + "1,Renée\n".encode() + "2,Müller\n".encode("cp1252"))
    (table,) = find_tables(tmp_path)
    assert infer(table).notes == (
        "t: t.csv has text in UTF-8 and in another encoding: 'Müller' in Windows-1252 is read as 'M\ufffdller'; "
        "write all of it in UTF-8",
    )
