"""Sums of floats: the exact sum rounded once, whatever the order."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cauce.operators.aggregates import Mean, Sum
from cauce.operators.exact import FloatSum, float_parts
from tests.operators.folding import fold, one, placed

finite = st.floats(allow_nan=False, allow_infinity=False)
HARD = [5e-324, -5e-324, 2.2250738585072014e-308, 2.225073858507201e-308, 1.7976931348623157e308, 1e16, 1.0, 1e-16]


def exact(values: list[float]) -> float:
    """math.fsum, which fails if a partial sum exceeds the largest float, even if the total does not."""
    total = sum(map(Fraction, values), Fraction(0))
    try:
        return total.numerator / total.denominator
    except OverflowError:
        return math.inf if total > 0 else -math.inf


@settings(max_examples=100)
@given(st.lists(finite | st.sampled_from(HARD), max_size=30), st.integers(0, 30), st.randoms(use_true_random=False))
def test_any_order_and_split_gives_the_exact_sum_rounded_once(
    values: list[float], cut: int, rng: random.Random
) -> None:
    rng.shuffle(values)
    rows = placed(pl.DataFrame({"v": values}, schema={"v": pl.Float64}))
    assert fold([rows[:cut], rows[cut:]], [], {"s": Sum("v")})["s"].to_list() == [exact(values)]


@settings(max_examples=50)
@given(st.lists(st.floats(-1e300, 1e300), max_size=20))
def test_equals_fsum(values: list[float]) -> None:
    assert one(Sum("v"), pl.Series(values, dtype=pl.Float64)) == math.fsum(values)


@pytest.mark.parametrize(
    "values",
    [[1e308, 1e308, -1e308], [5e-324] * 3, [1e16, 1.0, -1e16], [1.7976931348623157e308, 5e-324]],
)
def test_hard_sums(values: list[float]) -> None:
    assert one(Sum("v"), pl.Series(values)) == exact(values)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_sum_beyond_the_largest_float_is_infinite(sign: int) -> None:
    assert one(Sum("v"), pl.Series([sign * 1e308] * 2)) == sign * math.inf


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([math.inf, 1.0], math.inf),
        ([-math.inf, 1e308], -math.inf),
        ([math.inf, -math.inf], math.nan),
        ([math.nan, 1.0], math.nan),
        ([math.nan, math.inf], math.nan),
    ],
)
def test_nan_and_the_infinities_are_kept(values: list[float], expected: float) -> None:
    rows = placed(pl.DataFrame({"v": values}))
    for batches in ([rows], [rows[1:], rows[:1]]):
        assert fold(batches, [], {"s": Sum("v")})["s"].to_list() == pytest.approx([expected], nan_ok=True)


def test_nulls_add_nothing() -> None:
    assert one(Sum("v"), pl.Series([None, 0.5, None])) == 0.5
    assert one(Mean("v"), pl.Series([None, 0.5, 1.5])) == 1.0


def test_sums_of_groups_are_independent() -> None:
    rows = pl.DataFrame({"k": ["a", "b", "a"], "v": [1e16, 1.0, 1.0]})
    assert fold([rows], ["k"], {"s": Sum("v")}).rows() == [("a", 1e16), ("b", 1.0)]


@given(finite)
def test_mantissa_and_exponent_round_trip(value: float) -> None:
    mantissa, exponent, flag = float_parts(pl.Series([value])).row(0)
    assert Fraction(mantissa) * Fraction(2) ** exponent == Fraction(value)
    assert flag == 0


@given(st.integers(-(2**2200), 2**2200), st.integers(0, 7))
def test_a_dump_round_trips(units: int, flags: int) -> None:
    total = FloatSum.merge([FloatSum(units, flags).dump()])
    assert (total.units, total.flags) == (units, flags)
