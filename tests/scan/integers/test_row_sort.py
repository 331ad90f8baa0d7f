"""Rows are sorted as NumPy sorts them."""

from __future__ import annotations

import numpy as np
import pytest

from cauce.scan.integers.row_sort import sort_values

RNG = np.random.default_rng(2)
LOW, HIGH = -(2**63), 2**63 - 1


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("span", [(5, 5), (-3, 9), (0, 2**32), (LOW, HIGH)])
def test_one_column(span: tuple[int, int], descending: bool) -> None:
    values = RNG.integers(*span, 3_000, endpoint=True)
    found = sort_values([values], [descending])
    assert found is not None
    assert found[0].tolist() == sorted(values.tolist(), reverse=descending)


def test_several_columns_in_their_directions() -> None:
    one, two, three = RNG.integers(-4, 4, 3_000), np.full(3_000, 7), RNG.integers(-(2**40), 2**40, 3_000)
    found = sort_values([one, two, three], [True, False, False])
    order = np.lexsort((three, -one))
    assert found is not None
    assert [each.tolist() for each in found] == [each[order].tolist() for each in (one, two, three)]


def test_rows_of_more_than_64_bits_are_not_sorted() -> None:
    assert sort_values([np.array([LOW, HIGH]), np.array([0, 1])], [False, False]) is None
