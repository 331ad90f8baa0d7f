"""Division to integers, rounded half to even."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cauce.operators.exact import divide_half_even


def rounded(a: int | None, b: int | None) -> int | None:
    value: int | None = divide_half_even(pl.Series([a], dtype=pl.Int64), pl.Series([b], dtype=pl.Int64)).to_list()[0]
    return value


@pytest.mark.parametrize(("a", "b", "expected"), [(1, 2, 0), (3, 2, 2), (5, 2, 2), (-1, 2, 0), (-3, 2, -2), (7, 3, 2)])
def test_a_tie_goes_to_the_even_number(a: int, b: int, expected: int) -> None:
    assert rounded(a, b) == expected


@given(st.integers(-(2**62), 2**62), st.integers(1, 2**62))
def test_equals_rounding_of_the_fraction(a: int, b: int) -> None:
    assert rounded(a, b) == round(Fraction(a, b))


@pytest.mark.parametrize(("a", "b"), [(None, 1), (1, None), (1, 0)])
def test_without_a_quotient_it_is_null(a: int | None, b: int | None) -> None:
    assert rounded(a, b) is None
