"""Joins and explodes in slices return the same rows as in one piece."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from cauce.operators.expansion import SLICE_CELLS, expanding_explode, expanding_join
from cauce.operators.join import Build, LookupJoin, join, list_cells
from cauce.operators.late import Late
from cauce.operators.project import explode

LISTS = st.none() | st.lists(st.sampled_from("pqr"), max_size=4)
KEYS = st.none() | st.integers(0, 3)
SIDE = st.lists(st.tuples(KEYS, st.integers(0, 9), LISTS), max_size=12)


def side(rows: list[tuple[int | None, int, list[str] | None]], name: str) -> pl.DataFrame:
    schema = {"k": pl.Int64, name: pl.Int64, f"{name}_list": pl.List(pl.String)}
    return pl.DataFrame(rows, schema=schema, orient="row")


def gathered(slices: Iterable[Late], columns: list[str]) -> pl.DataFrame:
    return pl.concat([each.frame(columns) for each in slices])


@given(SIDE, SIDE, st.sampled_from(["inner", "left"]), st.sampled_from([1, 7, 40]))
def test_slices_of_a_join_are_its_rows_in_their_order(
    left_rows: list[tuple[int | None, int, list[str] | None]],
    right_rows: list[tuple[int | None, int, list[str] | None]],
    how: LookupJoin,
    slice_cells: int,
) -> None:
    left, right = side(left_rows, "a"), Build(side(right_rows, "b"), ["k"])
    columns = ["k", "a", "a_list", "b", "b_list"]
    whole = join(Late(left), right, how).frame(columns)
    slices = expanding_join(Late(left), left.columns, right, how, slice_cells)
    if slices is not None:
        assert_frame_equal(gathered(slices, columns), whole)


def test_slices_of_a_join_by_two_keys_are_its_rows() -> None:
    left = pl.DataFrame({"k": [1, 1, 2, 3, 3], "m": ["x", "y", "x", "x", "y"], "a": [7, 8, 9, 0, 0]})
    right = Build(pl.DataFrame({"k": [1, 1, 1, 2], "m": ["x", "x", "y", None], "b": [1, 2, 3, 4]}), ["k", "m"])
    slices = expanding_join(Late(left), left.columns, right, "inner", 1)
    assert slices is not None
    assert gathered(slices, ["a", "b"]).rows() == [(7, 1), (7, 2), (8, 3)]


def test_no_slice_exceeds_its_limit() -> None:
    left = pl.DataFrame({"k": [1] * 50 + [2] * 3, "l": [["p"] * (n % 5) for n in range(53)]})
    right = Build(pl.DataFrame({"k": [1] * 400 + [2] * 7, "b": range(407)}), ["k"])
    slices = expanding_join(Late(left), ["k", "l"], right, "inner", 100)
    assert slices is not None
    frames = [each.frame(["k", "l", "b"]) for each in slices]
    assert sum(frame.height for frame in frames) == 50 * 400 + 3 * 7
    assert max(frame.height + int(list_cells(frame).sum()) for frame in frames) <= 100


@pytest.mark.parametrize("how", ["inner", "left"])
def test_a_join_with_one_match_per_row_is_not_sliced(how: LookupJoin) -> None:
    left = pl.DataFrame({"k": list(range(100)) * 3})
    right = Build(pl.DataFrame({"k": range(100), "b": range(100)}), ["k"])
    assert expanding_join(Late(left), ["k"], right, how, slice_cells=10) is None


@pytest.mark.parametrize("how", ["semi", "anti"])
def test_a_join_that_adds_nothing_is_not_sliced(how: LookupJoin) -> None:
    frame = pl.DataFrame({"k": [1] * 100})
    assert expanding_join(Late(frame), ["k"], Build(frame, ["k"]), how, slice_cells=1) is None


def test_a_join_without_rows_for_its_hot_key_is_not_sliced() -> None:
    left = pl.DataFrame({"k": list(range(1, 100))})
    right = Build(pl.DataFrame({"k": [0] * 1000 + list(range(1, 100)), "b": range(1099)}), ["k"])
    assert expanding_join(Late(left), ["k"], right, "inner", slice_cells=1000) is None


def test_a_long_list_counts_for_each_row_that_repeats_it() -> None:
    left = pl.DataFrame({"k": [1], "l": [["p"] * 1000]})
    right = Build(pl.DataFrame({"k": [1] * 2000, "b": range(2000)}), ["k"])
    slices = expanding_join(Late(left), ["k", "l"], right, "inner", SLICE_CELLS)
    assert slices is not None
    assert max(each.height for each in slices) * 1000 <= SLICE_CELLS


def test_a_long_list_of_the_other_side_counts_for_each_row_that_takes_it() -> None:
    left = pl.DataFrame({"k": [1] * 2000})
    right = Build(pl.DataFrame({"k": [1], "l": [["p"] * 1000]}), ["k"])
    slices = expanding_join(Late(left), ["k"], right, "inner", SLICE_CELLS)
    assert slices is not None
    assert max(each.height for each in slices) * 1000 <= SLICE_CELLS


@given(st.lists(st.tuples(LISTS, LISTS), max_size=12), st.sampled_from([1, 7, 40]))
def test_slices_of_an_explode_are_its_rows_in_their_order(
    rows: list[tuple[list[str] | None, list[str] | None]], slice_cells: int
) -> None:
    schema = {"l": pl.List(pl.String), "m": pl.List(pl.String)}
    frame = pl.DataFrame(rows, schema=schema, orient="row").with_row_index("n")
    whole = explode(Late(frame), "l", ["m", "n"]).frame(["n", "l", "m"])
    slices = expanding_explode(Late(frame), "l", ["m", "n"], slice_cells)
    if slices is not None:
        assert_frame_equal(gathered(slices, ["n", "l", "m"]), whole)


def test_an_explode_that_repeats_no_list_is_not_sliced() -> None:
    frame = pl.DataFrame({"n": [1], "l": [["p"] * 100]})
    assert expanding_explode(Late(frame), "l", ["n"], slice_cells=10) is None
