"""Rows that are true in a column of booleans, whatever its length, its nulls and its place in a larger one."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from cauce.scan.integers.mask import true_rows

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
@pytest.mark.parametrize("start", [0, 1, 7, 8, 13])
@pytest.mark.parametrize("length", [0, 1, 5, 8, 64, 1003])
def test_rows_are_those_of_numpy(share: float, start: int, length: int) -> None:
    values = RNG.random(2000) < share
    mask = pl.Series(values).slice(start, length)
    assert true_rows(mask).tolist() == np.flatnonzero(values[start : start + length]).tolist()


def test_a_null_is_not_true() -> None:
    assert true_rows(pl.Series([True, None, False, None, True])).tolist() == [0, 4]


def test_all_chunks_are_read() -> None:
    assert true_rows(pl.concat([pl.Series([False, True]), pl.Series([True])], rechunk=False)).tolist() == [1, 2]
