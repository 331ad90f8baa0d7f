"""The canonical order of rows."""

from __future__ import annotations

import random
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cauce.operators.order import Ratio, SortKey, desc, sort_keys, sort_rows


def ordered(values: list[object], key: SortKey) -> list[object]:
    return sort_rows(pl.DataFrame({"x": values}), [key])["x"].to_list()


@pytest.mark.parametrize(("key", "expected"), [(SortKey("x"), [1, 2, None]), (desc("x"), [2, 1, None])])
def test_nulls_are_last_in_both_directions(key: SortKey, expected: list[int | None]) -> None:
    assert ordered([None, 1, 2], key) == expected


def test_text_sorts_by_code_point() -> None:
    texts: list[object] = ["é", "a", "Z", "😀", "\ufffd", "", "z"]
    assert ordered(texts, SortKey("x")) == sorted(map(str, texts))


def test_a_null_ratio_is_last_in_both_directions() -> None:
    rows = pl.DataFrame({"n": [1, 1, None], "d": [0, 2, 1]})
    for key in (SortKey(Ratio("n", "d")), desc(Ratio("n", "d"))):
        assert sort_rows(rows, [key]).row(0) == (1, 2)


def test_ties_are_broken_by_the_remaining_columns_from_left_to_right() -> None:
    rows = pl.DataFrame({"b": [2, 1, 1], "x": [0, 0, 0], "a": ["p", "r", "q"]})
    assert sort_rows(rows, [desc("x")]).rows() == [(1, 0, "q"), (1, 0, "r"), (2, 0, "p")]


def test_lists_break_ties_too() -> None:
    rows = pl.DataFrame({"x": [0, 0, 0], "tags": [["b"], ["a", "z"], ["a"]]})
    assert sort_rows(rows, [SortKey("x")])["tags"].to_list() == [["a"], ["a", "z"], ["b"]]


def test_a_sort_keeps_the_columns() -> None:
    rows = pl.DataFrame({"n": [2, 1], "d": [1, 1]})
    assert sort_rows(rows, [SortKey(Ratio("n", "d"))]).columns == ["n", "d"]


def test_several_keys_each_have_their_direction() -> None:
    rows = pl.DataFrame({"a": [1, 1, 2], "b": ["x", "y", "z"]})
    assert sort_rows(rows, [desc("a"), SortKey("b")])["b"].to_list() == ["z", "x", "y"]


def test_plain_names_and_ratios_become_ascending_keys() -> None:
    assert sort_keys(["a", Ratio("n", "d"), desc("b")]) == (SortKey("a"), SortKey(Ratio("n", "d")), desc("b"))


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(st.none() | st.integers(0, 2), st.none() | st.text(max_size=2), st.decimals(0, 3, places=1)),
        max_size=10,
    ),
    st.randoms(use_true_random=False),
)
def test_the_order_of_arrival_does_not_matter(
    rows: list[tuple[int | None, str | None, Decimal]], rng: random.Random
) -> None:
    schema = {"a": pl.Int64, "b": pl.String, "c": pl.Decimal(38, 18)}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    shuffled = pl.DataFrame(rng.sample(rows, len(rows)), schema=schema, orient="row")
    assert sort_rows(shuffled, [desc("a")]).rows() == sort_rows(frame, [desc("a")]).rows()
