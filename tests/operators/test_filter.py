"""Filter: rows for which every predicate is true, in their order."""

from __future__ import annotations

import polars as pl

from cauce.operators.late import Late

NUMBERS = pl.DataFrame({"x": [1, None, 3, 4], "y": ["a", "b", "c", None]})


def kept(*predicates: pl.Expr) -> list[int | None]:
    return Late(NUMBERS).filter(predicates).frame(["x"])["x"].to_list()


def test_keeps_rows_for_which_the_predicate_is_true() -> None:
    assert kept(pl.col("x") > 2) == [3, 4]


def test_a_null_predicate_drops_the_row() -> None:
    assert kept(pl.col("x") != 1) == [3, 4]


def test_every_predicate_must_hold() -> None:
    assert kept(pl.col("x") > 1, pl.col("y").is_not_null()) == [3]


def test_without_predicates_every_row_stays() -> None:
    assert kept() == [1, None, 3, 4]


def test_a_literal_predicate_applies_to_every_row() -> None:
    assert kept(pl.lit(False)) == []
    assert kept(pl.lit(True)) == [1, None, 3, 4]


def test_a_later_predicate_sees_only_rows_that_passed_earlier_ones() -> None:
    seen: list[int] = []

    def look(values: pl.Series) -> pl.Series:
        seen.extend(values)
        return values > 0

    kept(pl.col("x") > 3, pl.col("x").map_batches(look, return_dtype=pl.Boolean))
    assert seen == [4]


def test_a_filter_does_not_change_its_input() -> None:
    rows = Late(NUMBERS)
    rows.filter([pl.col("x") > 2])
    assert rows.height == 4
