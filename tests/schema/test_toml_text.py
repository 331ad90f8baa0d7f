"""The text form of schemas: an exact round trip, and errors that name the line or the key."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cauce.errors import UsageError
from cauce.schema import ColumnSchema, DatasetSchema, TableSchema

TYPES = st.sampled_from(["integer", "decimal(18,2)", "decimal", "float", "date", "timestamptz", "time", "text", "json"])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
COLUMNS = st.builds(ColumnSchema, TEXTS, TYPES, st.lists(TEXTS, max_size=2, unique=True).map(tuple))
TABLES = st.builds(
    TableSchema,
    TEXTS,
    TEXTS,
    st.lists(COLUMNS, min_size=1, max_size=4, unique_by=lambda column: column.name).map(tuple),
    st.sampled_from([",", ";", "\t", "|", "~"]),
    st.sampled_from(['"', "'", ""]),
    st.booleans(),
)
SCHEMAS = st.lists(TABLES, max_size=3, unique_by=lambda table: table.name.lower()).map(
    lambda tables: DatasetSchema(tuple(tables))
)


@given(SCHEMAS)
def test_the_text_gives_an_equal_schema(schema: DatasetSchema) -> None:
    found = DatasetSchema.from_toml(schema.to_toml())
    assert found == schema
    assert found.digest == schema.digest
    assert found.to_toml() == schema.to_toml()


@given(SCHEMAS)
def test_json_gives_an_equal_schema(schema: DatasetSchema) -> None:
    assert msgspec.json.decode(msgspec.json.encode(schema), type=DatasetSchema) == schema


def test_the_text_is_what_a_person_would_write() -> None:
    columns = (ColumnSchema("id", "integer"), ColumnSchema("Order Date", "date", ("NA", "\\N")))
    schema = DatasetSchema((TableSchema("orders", "orders/", columns, ";", header=False),))
    assert schema.to_toml().split("\n", 2)[2] == (
        '[orders]\npath = "orders/"\ndelimiter = ";"\nheader = false\n\n'
        '[orders.columns]\nid = "integer"\n"Order Date" = { type = "date", nulls = ["NA", "\\u005cN"] }\n'
    )


GOOD = '[orders]\npath = "orders.csv"\n[orders.columns]\nid = "integer"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[orders\n", "f.toml is not valid TOML: .*line 1"),
        ('x = 1\n', r"x = 1 is outside of a table; start each table with \[NAME\]"),
        (GOOD.replace("path", "paths"), r"orders\.paths: unknown key; .*did you mean path\?"),
        (GOOD.replace('"integer"', '"integr"'), r"columns\.id: unknown type 'integr'; .*did you mean integer\?"),
        (GOOD.replace('"integer"', "5"), r"orders\.columns\.id = 5: write a type"),
        (GOOD.replace('"integer"', '{ type = "date", null = ["x"] }'), r"orders\.columns\.id = .*: write a type"),
        (GOOD.replace('path = "orders.csv"\n', ""), r"orders\.path must be given, as a text"),
        ('[orders]\npath = "o.csv"\n', r"orders\.columns must be given"),
        ('[orders]\npath = "o.csv"\n[orders.columns]\n', "table orders has no columns"),
        (GOOD + 'x = "decimal(50,2)"\n', r"orders\.columns\.x: type 'decimal\(50,2\)': a decimal has 1 to 38 digits"),
        (GOOD.replace("[orders.columns]", 'header = "no"\n[orders.columns]'), "orders.header must be true or false"),
        (GOOD.replace("[orders.columns]", 'delimiter = ";;"\n[orders.columns]'), "';;' is not one ASCII character"),
        (GOOD.replace("[orders.columns]", 'quote = "x"\n[orders.columns]'), "orders.quote: 'x' is not allowed"),
        (GOOD + GOOD.replace("[orders", "[Orders"), "two tables named orders"),
    ],
)  # fmt: skip
def test_an_error_names_the_line_or_the_key(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        DatasetSchema.from_toml(text, "f.toml")
