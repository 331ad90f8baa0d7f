"""Months of moments are those of the calendar."""

from __future__ import annotations

from datetime import datetime

import polars as pl
import pytest

from cauce.datasets.calendar import months

MOMENTS = [
    datetime(2023, 12, 31, 23, 59, 59),
    datetime(2024, 1, 1),
    datetime(2024, 2, 29, 12),
    datetime(1969, 12, 31, 23, 59, 59, 999_999),
]


@pytest.mark.parametrize("added", [[], [None], [datetime(1, 1, 1), datetime(9999, 12, 31, 23)]])
def test_a_month_is_its_year_times_12_and_its_place(added: list[datetime | None]) -> None:
    moments = [*MOMENTS, *added]
    frame = pl.DataFrame({"at": pl.Series(moments, dtype=pl.Datetime("us"))})
    expected = [None if at is None else at.year * 12 + at.month - 1 for at in moments]
    assert frame.select(months("at"))["at"].to_list() == expected


def test_no_moments_have_no_months() -> None:
    assert pl.DataFrame({"at": pl.Series([], dtype=pl.Datetime("us"))}).select(months("at")).height == 0
