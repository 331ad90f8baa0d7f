"""Sums and means around the edges of 64 bits, 128 bits and 38 digits, against Python's own integers."""

from __future__ import annotations

import random
from decimal import Context, Decimal
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cauce.operators.aggregates import Aggregates, Mean, Sum
from tests.operators.folding import fold, one, placed

LIMIT = 10**38
MONEY = pl.Decimal(38, 18)
EXACT = Context(prec=100)


def near(*edges: int) -> st.SearchStrategy[int]:
    """Integers within a few of an edge or of its negative."""
    signed = [sign * edge for edge in edges for sign in (1, -1)]
    return st.builds(int.__add__, st.sampled_from(signed), st.integers(-2, 2))


def fitting(least: int, most: int) -> st.SearchStrategy[int]:
    edges = [edge for edge in (0, 2**31, 2**53, 2**62, 2**63, 10**19, 10**37, 5 * 10**37, LIMIT) if edge <= most]
    return (near(*edges) | st.integers(least, most)).filter(lambda value: least <= value <= most)


def cuts(values: list[object], dtype: pl.DataType, rng: random.Random) -> list[pl.DataFrame]:
    """The values in a random order and in random batches, each with a key."""
    keyed = [(number % 3, value) for number, value in enumerate(values)]
    rng.shuffle(keyed)
    rows = placed(pl.DataFrame(keyed, schema={"k": pl.Int64, "v": dtype}, orient="row"))
    cut = sorted(rng.randrange(len(values) + 1) for _ in range(3))
    return [rows[a:b] for a, b in zip([0, *cut], [*cut, len(values)], strict=True)]


def groups(values: list[object]) -> dict[int, list[object]]:
    found: dict[int, list[object]] = {}
    for number, value in enumerate(values):
        found.setdefault(number % 3, []).append(value)
    return found


def sum_of(units: list[int]) -> int | None:
    return sum(units) if abs(sum(units)) < LIMIT else None


def mean_of(units: list[int], unit: int) -> float:
    mean = Fraction(sum(units), len(units) * unit)
    return mean.numerator / mean.denominator


BOTH: Aggregates = {"sum": Sum("v"), "mean": Mean("v")}


@settings(max_examples=60)
@given(st.lists(fitting(-(2**63), 2**63 - 1), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_integers_of_64_bits(values: list[int], rng: random.Random) -> None:
    found = fold(cuts(list(values), pl.Int64(), rng), ["k"], BOTH)
    expected = [(k, sum(each), mean_of(each, 1)) for k, each in sorted(groups(list(values)).items())]  # type: ignore[arg-type]
    assert found.rows() == expected


@settings(max_examples=60)
@given(st.lists(fitting(1 - LIMIT, LIMIT - 1), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_integers_of_128_bits(values: list[int], rng: random.Random) -> None:
    found = fold(cuts(list(values), pl.Int128(), rng), ["k"], BOTH)
    expected = [(k, sum_of(each), mean_of(each, 1)) for k, each in sorted(groups(list(values)).items())]  # type: ignore[arg-type]
    assert found.rows() == expected


@settings(max_examples=60)
@given(st.lists(fitting(1 - LIMIT, LIMIT - 1), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_decimals(units: list[int], rng: random.Random) -> None:
    values = [Decimal(each).scaleb(-18, EXACT) for each in units]
    found = fold(cuts(list(values), MONEY, rng), ["k"], BOTH)
    expected = []
    for k, each in sorted(groups(list(units)).items()):
        total = sum_of(each)  # type: ignore[arg-type]
        shown = None if total is None else Decimal(total).scaleb(-18, EXACT)
        expected.append((k, shown, mean_of(each, 10**18)))  # type: ignore[arg-type]
    assert found.rows() == expected


def test_a_sum_of_integers_beyond_64_bits_is_exact() -> None:
    assert one(Sum("v"), pl.Series([2**63 - 1, 1])) == 2**63


def test_a_partial_sum_may_exceed_38_digits() -> None:
    most = Decimal("9" * 20)
    rows = placed(pl.DataFrame({"v": pl.Series([most] * 3 + [-most] * 3, dtype=MONEY)}))
    for batches in ([rows], [rows[:3], rows[3:]], [rows[:1], rows[1:4], rows[4:]]):
        assert fold(batches, [], {"s": Sum("v")})["s"].to_list() == [0]


@pytest.mark.parametrize("batches", [1, 2, 40])
def test_a_sum_beyond_38_digits_is_null_and_its_mean_exact(batches: int) -> None:
    rows = placed(pl.DataFrame({"v": pl.Series([Decimal(10**19)] * 40, dtype=MONEY)}))
    size = 40 // batches
    found = fold([rows[start : start + size] for start in range(0, 40, size)], [], BOTH)
    assert found.rows() == [(None, 1e19)]


def test_no_rows_give_zero() -> None:
    rows = placed(pl.DataFrame({"v": pl.Series([], dtype=MONEY)}))
    assert fold([rows], [], BOTH).rows() == [(Decimal(0), None)]


def test_nulls_add_nothing_to_a_wide_sum() -> None:
    most = Decimal("9" * 20)
    values = pl.Series([None, most, most, -most, None], dtype=MONEY)
    assert one(Sum("v"), values) == most
    assert one(Mean("v"), values) == float(Fraction(10**20 - 1, 3))


def test_groups_are_independent_if_one_of_them_is_wide() -> None:
    most = Decimal("9" * 20)
    frame = pl.DataFrame({"k": ["a", "b", "a", "c"], "v": pl.Series([most, Decimal(1), most, None], dtype=MONEY)})
    assert fold([frame], ["k"], {"s": Sum("v")}).rows() == [("a", None), ("b", Decimal(1)), ("c", Decimal(0))]
