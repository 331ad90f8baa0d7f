"""JSON cells, against Python's own parser."""

from __future__ import annotations

import datetime as dt
import decimal
import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cauce.errors import PlanError
from cauce.scan.cells.decode import parse_series
from cauce.scan.cells.kinds import Boolean, Date, Decimal, Fixed, Integer, Json, Kind, TextList, ZonedTimestamp
from tests.scan.reading import BAD, read, read_one

ORDER = '{"customer": {"city": "Bogotá", "vip": true}, "items": [{"price": 1.50}, {"price": 22}], "note": null}'


@pytest.mark.parametrize(
    "cell",
    ["{}", "[]", '"x"', "1", "-0.5e-3", "true", "null", ' {"a" : [1, {"b": null}] } ', '"\\u00e9"', '{"a":1,"a":2}'],
)
def test_valid_json_is_unchanged(cell: str) -> None:
    json.loads(cell)
    assert read_one(Json(), cell) == cell


@pytest.mark.parametrize(
    "cell",
    [
        *("{", "x", "'a'", "{'a': 1}", '{"a": 1,}', "[1,,2]", "01", "+1", "NaN", "Infinity", '"\t"', '"\\q"', "1 2"),
        *(" ", b'"\xff"'),
    ],
)
def test_anything_else_is_rejected(cell: str | bytes) -> None:
    assert read_one(Json(), cell) == BAD


def test_the_empty_cell_is_null() -> None:
    assert read_one(Json(), "") is None


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Json("customer.city"), "Bogotá"),
        (Json("customer.vip", Boolean()), True),
        (Json("customer"), '{"city": "Bogotá", "vip": true}'),
        (Json("items[0].price", Decimal()), decimal.Decimal("1.5")),
        (Json("items[1].price", Fixed(2)), 2200),
        (Json("items[0].price"), "1.50"),
        (Json("items[2].price"), None),
        (Json("items.price"), None),
        (Json("customer[0]"), None),
        (Json("customer.city.street"), None),
        (Json("note"), None),
        (Json("note", Integer()), None),
        (Json("customer.city", Integer()), BAD),
        (Json("items", Integer()), BAD),
        (Json("missing", Date()), None),
    ],
)
def test_a_path_leads_to_a_value_of_a_kind(kind: Kind, value: object) -> None:
    assert read_one(kind, ORDER) == value


def test_times_and_lists_may_be_at_a_path() -> None:
    assert read_one(Json("at", ZonedTimestamp()), '{"at": "2024-01-01T00:00Z"}') == dt.datetime(
        2024, 1, 1, tzinfo=dt.UTC
    )
    assert read_one(Json("tags", TextList()), '{"tags": ["a", "b\'c"]}') == ["a", "b'c"]


@pytest.mark.parametrize("cell", ['{"a": 1', '[1, {"a": }]', '{"b": [}, "a": 1}', "[", '"x'])
def test_a_path_into_invalid_json_is_rejected(cell: str) -> None:
    assert read_one(Json("a"), cell) == BAD


def test_an_empty_text_at_a_path_is_null_as_an_empty_cell_is() -> None:
    assert read_one(Json("a"), '{"a": ""}') is None


@pytest.mark.parametrize("path", [".a", "a.", "a..b", "a[", "a[x]", "a]b", "[-1]"])
def test_an_invalid_path_is_rejected_when_it_is_declared(path: str) -> None:
    with pytest.raises(PlanError, match="path looks like"):
        Json(path)


def test_a_kind_needs_a_path() -> None:
    with pytest.raises(PlanError, match="needs a path"):
        Json(kind=Integer())


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200)
@given(values, st.integers(0, 40), st.sampled_from(['"', "{", ",", "]", "1", ""]))
def test_a_changed_cell_is_valid_where_python_finds_it_valid(value: object, at: int, change: str) -> None:
    cell = json.dumps(value, ensure_ascii=False)
    cell = cell[:at] + change + cell[at + 1 :]
    if not cell:
        return
    try:
        json.loads(cell, parse_constant=_refuse)
        valid = True
    except ValueError:
        valid = False
    assert (read_one(Json(), cell) != BAD) is valid


def _refuse(constant: str) -> object:
    raise ValueError(constant)


@settings(max_examples=100)
@given(st.lists(values, max_size=6))
def test_the_text_at_a_path_is_the_value_that_python_finds(found: list[object]) -> None:
    cells = [json.dumps({"a": {"b": [value]}}) for value in found]
    texts = read(Json("a.b[0]"), cells)
    for value, text in zip(found, texts, strict=True):
        if isinstance(value, str):
            assert text == (value or None)
        elif value is None:
            assert text is None
        else:
            assert json.loads(str(text)) == value


def test_a_nested_column_is_read_as_the_json_of_its_values() -> None:
    series = pl.Series([{"city": "Lima", "days": [dt.date(2024, 1, 1)], "n": decimal.Decimal("1.50")}, None])
    assert parse_series(Json("city"), series).values.to_list() == ["Lima", None]
    assert parse_series(Json("days[0]", Date()), series).values.to_list() == [dt.date(2024, 1, 1), None]
    assert parse_series(Json("n", Decimal()), series).values.to_list() == [decimal.Decimal("1.5"), None]
    assert not parse_series(Json(), series).bad.any()
