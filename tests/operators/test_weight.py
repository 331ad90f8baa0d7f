"""The size of the content of frames."""

from __future__ import annotations

from datetime import date

import polars as pl

from cauce.operators.weight import row_weights, weigh

ROWS = pl.DataFrame(
    {
        "number": [1, None, 3],
        "text": ["abc", None, "ünï"],
        "bytes": [b"", b"12345", None],
        "day": [date(2020, 1, 1), None, None],
        "wide": pl.Series([1, 2, 3], dtype=pl.Int128),
        "flag": [True, False, None],
    }
)


def test_weights_of_rows_add_up_to_that_of_the_frame() -> None:
    weights = row_weights(ROWS)
    assert weights is not None
    assert weights.tolist() == [weigh(ROWS.slice(row, 1)) for row in range(3)]
    assert int(weights.sum()) == weigh(ROWS)


def test_rows_with_lists_are_weighed_together() -> None:
    assert row_weights(pl.DataFrame({"list": [[1, 2], []]})) is None
