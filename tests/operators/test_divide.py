"""Division: one correct rounding, and exact order of fractions with equal quotients."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cauce.operators.exact import divide
from cauce.operators.order import Ratio, SortKey, desc, sort_rows

MONEY = pl.Decimal(38, 18)
whole = st.integers(-(2**63), 2**63 - 1) | st.integers(-1000, 1000)
money = st.decimals(-(10**17) + 1, 10**17 - 1, places=18) | st.decimals(-1000, 1000, places=2)


def nearest(a: int | Decimal | None, b: int | Decimal | None) -> float | None:
    if a is None or not b:
        return None
    quotient = Fraction(a) / Fraction(b)
    return quotient.numerator / quotient.denominator


def series(values: list[int | None] | list[Decimal | None]) -> pl.Series:
    decimal = any(isinstance(value, Decimal) for value in values)
    return pl.Series(values, dtype=MONEY if decimal else pl.Int64)


@settings(max_examples=100)
@given(st.lists(st.tuples(st.none() | whole, st.none() | whole), max_size=6))
@example([(2**53, 1), (2**53 + 1, 3)])
@example([(-(2**63), -1)])
def test_integers_give_the_nearest_float(pairs: list[tuple[int | None, int | None]]) -> None:
    quotients = divide(series([a for a, _ in pairs]), series([b for _, b in pairs]))
    assert quotients.to_list() == [nearest(a, b) for a, b in pairs]


@settings(max_examples=100)
@given(st.lists(st.tuples(money, money), min_size=1, max_size=6))
def test_decimals_give_the_nearest_float(pairs: list[tuple[Decimal, Decimal]]) -> None:
    quotients = divide(series([a for a, _ in pairs]), series([b for _, b in pairs]))
    assert quotients.to_list() == [nearest(a, b) for a, b in pairs]


@settings(max_examples=100)
@given(st.lists(st.tuples(whole, money), min_size=1, max_size=6))
@example([(2**60, Decimal(1))])
@example([(2**63 - 1, Decimal("0.0001"))])
def test_integers_and_decimals_mix(pairs: list[tuple[int, Decimal]]) -> None:
    numbers, amounts = series([a for a, _ in pairs]), series([b for _, b in pairs])
    assert divide(numbers, amounts).to_list() == [nearest(a, b) for a, b in pairs]
    assert divide(amounts, numbers).to_list() == [nearest(b, a) for a, b in pairs]


def test_a_zero_denominator_gives_null() -> None:
    assert divide(pl.Series([1, 0]), pl.Series([0, 0])).to_list() == [None, None]


@pytest.mark.parametrize("beside", [1, 2**62])
def test_zero_over_a_negative_number_is_zero_for_any_other_rows(beside: int) -> None:
    assert repr(divide(pl.Series([0, beside]), pl.Series([-5, 1])).to_list()[0]) == "0.0"


def test_no_rows_give_no_quotients() -> None:
    assert divide(pl.Series([], dtype=pl.Int64), pl.Series([], dtype=MONEY)).dtype == pl.Float64


def test_fractions_whose_quotients_are_equal_sort_by_their_exact_value() -> None:
    big = 10**17
    rows = pl.DataFrame({"name": ["c", "a", "b"], "n": [big + 2, big, big + 1], "d": [big + 3, big + 1, big + 2]})
    assert divide(rows["n"], rows["d"]).n_unique() == 1
    assert sort_rows(rows, [SortKey(Ratio("n", "d"))])["name"].to_list() == ["a", "b", "c"]
    assert sort_rows(rows, [desc(Ratio("n", "d"))])["name"].to_list() == ["c", "b", "a"]


def test_equal_fractions_of_different_numbers_tie() -> None:
    rows = pl.DataFrame({"name": ["b", "a"], "n": [1, 2], "d": [3, 6]})
    assert sort_rows(rows, [desc(Ratio("n", "d")), SortKey("name")])["name"].to_list() == ["a", "b"]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(10**17, 10**17 + 9), st.integers(10**17, 10**17 + 9)), min_size=2, max_size=8))
def test_any_fractions_sort_as_fractions(pairs: list[tuple[int, int]]) -> None:
    rows = pl.DataFrame(pairs, schema=["n", "d"], orient="row")
    fractions = [Fraction(n, d) for n, d in sort_rows(rows, [SortKey(Ratio("n", "d"))]).rows()]
    assert fractions == sorted(fractions)
