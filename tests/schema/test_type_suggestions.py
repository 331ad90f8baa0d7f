"""Sentences about cells that the types of a schema do not read, with the option that reads them."""

from __future__ import annotations

import polars as pl
import pytest

from cauce.scan.block import REJECT_SCHEMA
from cauce.schema import ColumnSchema, DatasetSchema, TableSchema, type_suggestions


def rejects(column: str | None, *raws: str) -> pl.DataFrame:
    rows = [("t.csv", line, column, "not a number", raw) for line, raw in enumerate(raws, 7)]
    return pl.DataFrame(rows, schema=REJECT_SCHEMA, orient="row")


def sentences(kind: str, *raws: str) -> list[str]:
    return type_suggestions(TableSchema("t", "t.csv", (ColumnSchema("x", kind),)), rejects("x", *raws))


@pytest.mark.parametrize(
    ("kind", "raws", "remedy"),
    [
        ("integer", ["1.5", "2"], "decimal"),
        ("decimal(18,2)", ["1.555"], "decimal"),
        ("integer", ["1e5"], "float"),
        ("decimal", ["nan", "1e5"], "float"),
        ("date", ["2024-01-01 10:00"], "timestamp"),
        ("date", ["01/02/2024"], "text"),
        ("boolean", ["2"], "text"),
        ("timestamp", ["2024-01-01T10:00Z"], "text"),
    ],
)
def test_the_remedy_reads_the_sample_and_the_rejects(kind: str, raws: list[str], remedy: str) -> None:
    (sentence,) = sentences(kind, *raws)
    assert sentence.endswith(f": use --type t.x={remedy}")


def test_cells_are_counted_and_the_first_is_shown() -> None:
    (sentence,) = sentences("integer", "a" * 100, "b")
    assert sentence.startswith("t.x is read as integer, but 2 cells are not, such as 'aaa")
    assert "…' (t.csv line 7): " in sentence


def test_names_that_are_not_identifiers_are_quoted_for_the_shell() -> None:
    schema = TableSchema("my table", "my table.csv", (ColumnSchema('a "b"', "integer"),))
    (sentence,) = type_suggestions(schema, rejects('a "b"', "x"))
    assert sentence.endswith("""use --type '"my table"."a ""b"\""=text'""")
    named = sentence.rpartition("--type '")[2].removesuffix("=text'")
    assert DatasetSchema((schema,)).override(named, "text").table("my table").columns[0].type == "text"


def test_rejected_records_need_no_type() -> None:
    assert type_suggestions(TableSchema("t", "t.csv", (ColumnSchema("x", "integer"),)), rejects(None, "1,2,3")) == []


def test_a_type_that_the_user_has_chosen_is_not_questioned() -> None:
    schema = TableSchema("T", "t.csv", (ColumnSchema("X", "integer"),))
    assert type_suggestions(schema, rejects("X", "a"), {"t.x"}) == []
