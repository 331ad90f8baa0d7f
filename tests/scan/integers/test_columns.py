"""Columns of several pieces have the values of their pieces."""

from __future__ import annotations

import datetime

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from cauce.scan.integers.columns import in_one_piece, values_of

DAY = datetime.date(2024, 2, 29)
COLUMNS = {
    "small": pl.Series([1, -2, 3], dtype=pl.Int8),
    "large": pl.Series([2**62, -5, 0]),
    "wide": pl.Series([7, 2**63 - 1, -9], dtype=pl.Int128),
    "real": pl.Series([0.5, -0.0, 3.25]),
    "day": pl.Series([DAY, DAY, datetime.date(1969, 12, 31)]),
    "nulls": pl.Series([None, 1, 2]),
    "text": pl.Series(["a", "", None]),
}
FRAME = pl.DataFrame(COLUMNS)
PIECES = pl.concat([FRAME, FRAME[1:2], FRAME[:0], FRAME])
FIXED = [name for name in COLUMNS if name not in ("nulls", "text")]


@pytest.mark.parametrize("name", FIXED)
def test_values_of_several_pieces_are_those_of_all(name: str) -> None:
    values = values_of(PIECES[name])
    assert values is not None
    assert values.flags.c_contiguous
    assert values.tolist() == PIECES[name].to_physical().to_list()


def test_a_frame_in_one_piece_has_the_same_rows() -> None:
    made = in_one_piece(PIECES)
    assert_frame_equal(made, PIECES, check_exact=True)
    assert made["large"].n_chunks() == 1
    assert PIECES["large"].n_chunks() > 1
