"""Decimals in 64 bits: exact, and left to the 128-bit way if they do not fit."""

from __future__ import annotations

from decimal import Decimal

import polars as pl
import pytest

from cauce.scan.integers.narrow import ADD, MULTIPLY, SUBTRACT, Narrow, decimals


def column(values: list[str | None], scale: int = 2) -> pl.Series:
    return pl.Series([None if each is None else Decimal(each) for each in values], dtype=pl.Decimal(38, scale))


def test_units_and_their_ends_are_those_of_the_decimals() -> None:
    found = Narrow.of(column(["1.50", "-0.01", "92233720368547758.07"]))
    assert found is not None
    assert found.values.tolist() == [150, -1, 2**63 - 1]
    assert (found.low, found.high) == (-1, 2**63 - 1)


def test_a_slice_has_its_own_values() -> None:
    found = Narrow.of(column(["1", "2", "3", "4"])[1:3])
    assert found is not None
    assert found.values.tolist() == [200, 300]


@pytest.mark.parametrize(
    "values", [["1", None], [], ["92233720368547758.08"], ["-92233720368547758.09"], ["0", "184467440737095516.16"]]
)
def test_nulls_and_wide_numbers_are_left_to_others(values: list[str | None]) -> None:
    assert Narrow.of(column(values)) is None


@pytest.mark.parametrize(
    ("operation", "scales", "expected"),
    [
        (ADD, (1, 100), ["1.5500", "-7.0001"]),
        (SUBTRACT, (1, 100), ["1.4500", "6.9999"]),
        (MULTIPLY, (1, 1), ["0.0750", "0.0007"]),
    ],
)
def test_results_are_exact(operation: int, scales: tuple[int, int], expected: list[str]) -> None:
    a, b = Narrow.of(column(["1.5", "-0.0001"], 4)), Narrow.of(column(["0.05", "-7"], 2))
    assert a is not None
    assert b is not None
    dtype = pl.Decimal(20, 6 if operation == MULTIPLY else 4)
    made = decimals(a, scales[0], b, scales[1], operation, dtype)
    assert made.dtype == dtype
    assert made.to_list() == [Decimal(each) for each in expected]
