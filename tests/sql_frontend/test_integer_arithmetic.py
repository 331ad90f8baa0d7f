"""Arithmetic of many integers: as DuckDB's, and an error where a result does not fit its type."""

from __future__ import annotations

import random

import duckdb
import polars as pl
import pytest

from cauce.errors import JobFailed
from cauce.sql_frontend.functions.arithmetic import Checked
from cauce.sql_frontend.types import SqlType

ROWS = 500
SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "//", "modulo": "%"}
MOST = 2**63 - 1
DIVISORS = {"positive": (1, 9), "large": (MOST - 5, MOST), "one": (100, 100), "negative": (-9, -1)}


def column(low: int, high: int, seed: int, *, nulls: bool = False, dtype: type[pl.DataType] = pl.Int64) -> pl.Series:
    rng = random.Random(seed)
    return pl.Series(
        [None if nulls and rng.random() < 0.1 else rng.randint(low, high) for _ in range(ROWS)], dtype=dtype
    )


def computed(operation: str, kind: str, left: pl.Series, right: pl.Series) -> pl.Series:
    return Checked("", operation, SqlType(kind)).compute(left, right, pl.Series([True] * ROWS))


def by_duckdb(operation: str, left: pl.Series, right: pl.Series) -> list[object]:
    rows = pl.DataFrame({"n": range(ROWS), "a": left, "b": right})
    with duckdb.connect() as connection:
        connection.register("rows", rows.to_arrow())
        found = connection.execute(f"SELECT a {SIGNS[operation]} b FROM rows ORDER BY n").fetchall()
    return [value for (value,) in found]


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("low", [0, -1_000])
@pytest.mark.parametrize("operation", SIGNS)
def test_results_are_those_of_duckdb(operation: str, low: int, nulls: bool) -> None:
    left, right = column(low, 1_000, 1, nulls=nulls), column(1, 30, 2, nulls=nulls)
    made = computed(operation, "BIGINT", left, right)
    assert made.dtype == pl.Int64
    assert made.to_list() == by_duckdb(operation, left, right)


@pytest.mark.parametrize("divisors", DIVISORS)
@pytest.mark.parametrize("operation", ["divide", "modulo"])
def test_quotients_of_the_largest_values_are_those_of_duckdb(operation: str, divisors: str) -> None:
    left = column(-MOST, MOST, 3).extend(pl.Series([-MOST, MOST, 0]))[3:]
    right = column(*DIVISORS[divisors], 4)
    assert computed(operation, "BIGINT", left, right).to_list() == by_duckdb(operation, left, right)


def test_the_least_value_has_a_quotient() -> None:
    left, right = pl.Series([-MOST - 1] * ROWS), column(1, 9, 5)
    for operation in ("divide", "modulo"):
        assert computed(operation, "BIGINT", left, right).to_list() == by_duckdb(operation, left, right)


@pytest.mark.parametrize("operation", ["add", "subtract", "multiply"])
def test_small_types_keep_their_type(operation: str) -> None:
    left, right = column(-5, 5, 6, dtype=pl.Int8), column(0, 9, 7, dtype=pl.Int8)
    made = computed(operation, "TINYINT", left, right)
    assert made.dtype == pl.Int8
    assert made.to_list() == by_duckdb(operation, left, right)


@pytest.mark.parametrize(
    ("operation", "kind", "value"), [("add", "BIGINT", MOST), ("multiply", "BIGINT", 2**33), ("add", "TINYINT", 64)]
)
def test_a_result_outside_its_type_is_an_error_within_the_guard(operation: str, kind: str, value: int) -> None:
    column = pl.Series([1] * (ROWS - 1) + [value], dtype=SqlType(kind).dtype)
    with pytest.raises(JobFailed, match="overflow in"):
        computed(operation, kind, column, column)
    guard = pl.Series([True] * (ROWS - 1) + [False])
    made = Checked("", operation, SqlType(kind)).compute(column, column, guard)
    assert made.null_count() == 1


def test_a_division_by_zero_is_an_error() -> None:
    with pytest.raises(JobFailed, match="division by zero"):
        computed("modulo", "BIGINT", column(0, 9, 8), column(0, 9, 9))
