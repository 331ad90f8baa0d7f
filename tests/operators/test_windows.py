"""Frames and aggregates over them, compared with a naive computation of each frame."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cauce.operators.aggregates import Aggregate, Count, Max, Mean, Min, NullableSum
from cauce.operators.order import SortKey
from cauce.operators.windows import FirstValue, Frame, LastValue, OverFrame, WindowFunction, sorted_windows

Values = list[float | None]

NAIVE: dict[str, tuple[WindowFunction, Callable[[Values], Any]]] = {
    "sum": (OverFrame(NullableSum("v")), lambda frame: math.fsum(frame) if frame else None),  # type: ignore[arg-type]
    "mean": (OverFrame(Mean("v")), lambda frame: statistics.fmean(frame) if frame else None),  # type: ignore[type-var]
    "min": (OverFrame(Min("v")), lambda frame: min(frame, default=None)),  # type: ignore[type-var]
    "max": (OverFrame(Max("v")), lambda frame: max(frame, default=None)),  # type: ignore[type-var]
    "count": (OverFrame(Count("v")), len),
    "first": (FirstValue("v", ignore_nulls=True), lambda frame: frame[0] if frame else None),
    "last": (LastValue("v", ignore_nulls=True), lambda frame: frame[-1] if frame else None),
}
BOUND = st.none() | st.integers(-3, 3)


@pytest.mark.parametrize("name", NAIVE)
@settings(max_examples=60)
@given(
    rows=st.lists(st.tuples(st.integers(0, 2), st.none() | st.sampled_from([0.1, 0.2, 1e16, -1e16, 3.0])), max_size=25),
    start=BOUND,
    end=BOUND,
)
def test_an_aggregate_of_a_moving_frame_is_that_of_the_frame_alone(
    name: str, rows: list[tuple[int, float | None]], start: int | None, end: int | None
) -> None:
    function, naive = NAIVE[name]
    schema = {"k": pl.Int64, "v": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row").with_row_index("i")
    window = sorted_windows(frame, ["k"], [SortKey("i")], Frame("rows", start, end))
    expected = []
    for key in sorted({key for key, _ in rows}):
        values = [value for each, value in rows if each == key]
        for at in range(len(values)):
            low = 0 if start is None else max(at + start, 0)
            high = len(values) if end is None else max(at + end + 1, 0)
            expected.append(naive([each for each in values[low:high] if each is not None]))
    assert function.values(window).to_list() == expected


def test_a_partition_is_a_group_whatever_the_order_of_its_rows() -> None:
    frame = pl.DataFrame({"k": ["a", None, "b", None, "a"], "v": [1, 2, 3, 4, 5]})
    aggregate: Aggregate = NullableSum("v")
    sums = []
    for rows in (frame, frame.reverse()):
        window = sorted_windows(rows, ["k"], [], None)
        sums.append(dict(zip(window.rows["v"], OverFrame(aggregate).values(window), strict=True)))
    assert sums == [{1: 6, 5: 6, 3: 3, 2: 6, 4: 6}] * 2
