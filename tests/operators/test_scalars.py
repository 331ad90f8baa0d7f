"""Scalars: the single row of a global aggregate is added to every row."""

from __future__ import annotations

from decimal import Decimal

import polars as pl
import pytest

from cauce.operators.join import attach_scalars
from cauce.operators.late import Late

ROWS = pl.DataFrame({"x": [1, 2]})


def test_scalars_are_added_to_every_row() -> None:
    rows = attach_scalars(Late(ROWS), pl.DataFrame({"n": [7], "m": ["a"]}))
    assert rows.frame(["x", "n", "m"]).rows() == [(1, 7, "a"), (2, 7, "a")]


@pytest.mark.parametrize(
    "scalar",
    [
        pl.Series("v", [None], dtype=pl.Float64),
        pl.Series("v", [Decimal("12345678901234567890.123456789012345678")], dtype=pl.Decimal(38, 18)),
        pl.Series("v", [["a", "b"]], dtype=pl.List(pl.String)),
        pl.Series("v", [19000], dtype=pl.Int32).cast(pl.Date),
        pl.Series("v", [True]),
    ],
    ids=lambda scalar: str(scalar.dtype),
)
def test_a_scalar_keeps_its_value_and_type(scalar: pl.Series) -> None:
    values = attach_scalars(Late(ROWS), scalar.to_frame()).frame(["v"])["v"]
    assert values.dtype == scalar.dtype
    assert values.to_list() == scalar.to_list() * 2


def test_no_rows_stay_no_rows() -> None:
    assert attach_scalars(Late(ROWS.clear()), pl.DataFrame({"n": [7]})).frame(["x", "n"]).height == 0


@pytest.mark.parametrize("height", [0, 2])
def test_a_side_without_exactly_one_row_is_refused(height: int) -> None:
    with pytest.raises(ValueError, match="one row"):
        attach_scalars(Late(ROWS), pl.DataFrame({"n": list(range(height))}))
