"""Lookup and overriding of types in schemas."""

from __future__ import annotations

import pytest

from cauce.errors import UnknownName, UsageError
from cauce.schema import ColumnSchema, DatasetSchema, TableSchema, column_type
from cauce.schema.types import ColumnType, common_type

SCHEMA = DatasetSchema(
    (
        TableSchema("orders", "orders.csv", (ColumnSchema("id", "integer"), ColumnSchema("Paid", "text", ("NA",)))),
        TableSchema("my.file", "my.file.csv", (ColumnSchema("a.b", "text"), ColumnSchema("a", "text"))),
    )
)


@pytest.mark.parametrize("name", ["orders.Paid", "ORDERS.paid", 'orders."Paid"', ' "orders" . Paid '])
def test_a_type_is_overridden_by_table_and_column(name: str) -> None:
    changed = SCHEMA.override(name, "numeric(10, 2)")
    assert changed.table("orders").column("Paid") == ColumnSchema("Paid", "decimal(18,2)", ("NA",))
    assert changed.table("my.file") == SCHEMA.table("my.file")
    assert changed.digest != SCHEMA.digest


def test_names_with_dots_are_quoted() -> None:
    assert SCHEMA.override('"my.file"."a.b"', "date").table("my.file").column("a.b").type == "date"


@pytest.mark.parametrize(
    ("name", "kind", "error", "message"),
    [
        ("orders", "date", UsageError, r"expected TABLE\.COLUMN"),
        ("order.id", "date", UnknownName, r"unknown table order; there are orders, my\.file; did you mean orders\?"),
        ("orders.paide", "date", UnknownName, r"no column paide; it has id, Paid; did you mean Paid\?"),
        ("orders.id", "money", UsageError, "unknown type 'money'; expected one of integer, decimal"),
        ("orders.id", "date(3)", UsageError, "only decimal has a number of digits"),
        ("orders.id", "decimal(2,3)", UsageError, "at most as many decimals"),
    ],
)
def test_a_mistake_is_explained(name: str, kind: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        SCHEMA.override(name, kind)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("BIGINT", "integer"),
        ("double precision", "float"),
        ("varchar(20)", "text"),
        ("Timestamp With Time Zone", "timestamptz"),
        ("numeric(38,18)", "decimal"),
        ("decimal(5)", "decimal(18,0)"),
        ("bool", "boolean"),
    ],
)
def test_names_of_sql_are_types_too(text: str, name: str) -> None:
    assert str(column_type(text)) == name


@pytest.mark.parametrize(
    ("types", "common"),
    [
        (["integer", "integer"], "integer"),
        (["integer", "decimal(18,2)"], "decimal(18,2)"),
        (["decimal(18,1)", "decimal(18,3)", "integer"], "decimal(18,3)"),
        (["decimal(18,1)", "decimal"], "decimal"),
        (["integer", "float"], "float"),
        (["date", "timestamp"], "timestamp"),
        (["timestamp", "timestamptz"], "text"),
        (["boolean", "integer"], "text"),
    ],
)
def test_the_common_type_reads_all(types: list[str], common: str) -> None:
    assert common_type(map(column_type, types)) == column_type(common)
    assert isinstance(column_type(common), ColumnType)
