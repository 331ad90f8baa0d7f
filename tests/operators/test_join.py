"""Joins with a complete build side."""

from __future__ import annotations

import polars as pl
import pytest

from cauce.operators.join import Build, LookupJoin, join
from cauce.operators.late import Late

LEFT = pl.DataFrame({"k": [3, 1, None, 2, 1], "a": ["p", "q", "r", "s", "t"]})
RIGHT = pl.DataFrame({"k": [1, 2, None, 1], "b": ["x", "y", "z", "w"]})


def joined(how: LookupJoin, left: pl.DataFrame = LEFT, right: pl.DataFrame = RIGHT) -> Late:
    return join(Late(left), Build(right, ["k"]), how)


def test_inner_pairs_every_row_with_each_match_in_the_order_of_both_sides() -> None:
    assert joined("inner").frame(["a", "b"]).rows() == [("q", "x"), ("q", "w"), ("s", "y"), ("t", "x"), ("t", "w")]


def test_left_keeps_rows_without_a_match() -> None:
    assert joined("left").frame(["a", "b"]).rows() == [
        ("p", None),
        ("q", "x"),
        ("q", "w"),
        ("r", None),
        ("s", "y"),
        ("t", "x"),
        ("t", "w"),
    ]


def test_semi_keeps_rows_with_a_match_once() -> None:
    assert joined("semi").frame(["a"])["a"].to_list() == ["q", "s", "t"]


def test_anti_keeps_rows_without_a_match_and_those_with_a_null_key() -> None:
    assert joined("anti").frame(["a"])["a"].to_list() == ["p", "r"]


@pytest.mark.parametrize(("how", "expected"), [("inner", 0), ("left", 5), ("semi", 0), ("anti", 5)])
def test_an_empty_other_side_has_no_matches(how: LookupJoin, expected: int) -> None:
    assert joined(how, right=RIGHT.clear()).height == expected


@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
def test_no_rows_give_no_rows(how: LookupJoin) -> None:
    assert joined(how, left=LEFT.clear()).height == 0


def test_inner_repeats_a_row_for_equal_keys_that_add_no_columns() -> None:
    assert joined("inner", right=RIGHT.select("k")).frame(["a"])["a"].to_list() == ["q", "q", "s", "t", "t"]


def test_left_repeats_a_row_for_equal_keys_that_add_no_columns() -> None:
    assert joined("left", right=RIGHT.select("k")).frame(["a"])["a"].to_list() == ["p", "q", "q", "r", "s", "t", "t"]


def test_a_key_of_two_columns_matches_only_where_both_do() -> None:
    left = pl.DataFrame({"k": [1, 1, 2], "m": ["a", "b", None]})
    right = pl.DataFrame({"k": [1, 2], "m": ["b", None], "v": [7, 8]})
    assert join(Late(left), Build(right, ["k", "m"]), "inner").frame(["k", "m", "v"]).rows() == [(1, "b", 7)]


def test_a_join_may_add_a_column_with_the_name_of_a_dropped_one() -> None:
    left = LEFT.with_columns(b=pl.lit("old"))
    assert joined("inner", left=left).frame(["b"])["b"].to_list() == ["x", "w", "y", "x", "w"]
