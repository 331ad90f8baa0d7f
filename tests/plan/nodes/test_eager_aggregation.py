"""Eager aggregation gives the states of all pairs, in the same order, and computes no pairs."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from cauce.operators.aggregates import Aggregate, Count, Max, Mean, NullableSum, Sum
from cauce.operators.expansion import Expansion
from cauce.plan import nodes
from cauce.plan.evaluate import Evaluator, Received

Rows = Sequence[tuple[object, ...]]

KEYS = st.none() | st.integers(0, 2)
INTEGERS = st.none() | st.integers(-(2**62), 2**62)
FLOATS = st.none() | st.sampled_from([0.0, -0.0, 1.5, float("nan")])
LEFT_ROWS = st.lists(st.tuples(KEYS, INTEGERS, FLOATS), max_size=12)
RIGHT_ROWS = st.lists(st.tuples(KEYS, INTEGERS, FLOATS), max_size=12)

LEFT, RIGHT = nodes.Receive(0, ("k", "n", "f")), nodes.Receive(1, ("k", "y", "g"))
JOINED = nodes.Join(LEFT, RIGHT, ("k",), "inner", "partition")
NULLS_EQUAL = nodes.Join(LEFT, RIGHT, ("k",), "inner", "partition", nulls_equal=True)
BY_FLOATS = nodes.Join(
    nodes.Receive(0, ("n", "f")),
    nodes.Select(RIGHT, (pl.col("g").alias("f"), pl.col("y"))),
    ("f",),
    "inner",
    "partition",
)
SUMS: dict[str, Aggregate] = {"n": Count(), "k": Count("y"), "s": Sum("y"), "m": Mean("y"), "z": NullableSum("y")}
"""Some have the names of a column of the left side, and of the key."""
PROJECTED = nodes.Select(
    nodes.WithColumns(JOINED, ((pl.col("n") % 3).alias("x"), (pl.col("y") // 2).alias("h"))),
    (pl.col("x"), pl.col("h").alias("y"), pl.lit(2).alias("two")),
)
EAGER = {
    "by a column": nodes.Partial(JOINED, ("f",), SUMS),
    "by a column or null": nodes.Partial(JOINED, ("f",), SUMS, nulls=True),
    "by the key": nodes.Partial(JOINED, ("k",), {"c": Count(), "s": Sum("y")}),
    "of all": nodes.Partial(JOINED, (), SUMS),
    "only a count": nodes.Partial(JOINED, ("f",), {"c": Count()}),
    "null keys are equal": nodes.Partial(NULLS_EQUAL, ("f",), SUMS, nulls=True),
    "keys are floats": nodes.Partial(BY_FLOATS, ("n",), {"c": Count(), "s": Sum("y")}),
    "of projections": nodes.Partial(PROJECTED, ("x",), {"c": Count(), "s": Sum("y"), "t": Sum("two")}),
}
OTHERS = {
    "a maximum": nodes.Partial(JOINED, ("n",), {"c": Max("y")}),
    "a sum of floats": nodes.Partial(JOINED, ("n",), {"c": Sum("g")}),
    "a sum of the left side": nodes.Partial(JOINED, ("f",), {"c": Sum("n")}),
    "a sum of the key": nodes.Partial(JOINED, ("f",), {"c": Sum("k")}),
    "by the right side": nodes.Partial(JOINED, ("g",), {"c": Sum("y")}),
    "of both sides": nodes.Partial(
        nodes.WithColumns(JOINED, ((pl.col("n") + pl.col("y")).alias("b"),)), ("f",), {"c": Sum("b")}
    ),
    "filtered": nodes.Partial(nodes.Filter(JOINED, (pl.col("y") > 0,)), ("f",), {"c": Count()}),
}


class InSlices(Evaluator):
    slice_cells = 1


def received(left: Rows, right: Rows) -> Received:
    types = [pl.Int64, pl.Int64, pl.Float64]
    frames = [
        pl.DataFrame(rows, schema=dict(zip(names, types, strict=True)), orient="row")
        for names, rows in (("knf", left), ("kyg", right))
    ]
    return Received(dict(enumerate(frames)))


@pytest.mark.parametrize("name", [*EAGER, *OTHERS])
@settings(max_examples=50)
@given(left=LEFT_ROWS, right=RIGHT_ROWS)
def test_the_states_are_those_of_all_pairs(name: str, left: Rows, right: Rows) -> None:
    node, inputs = (EAGER | OTHERS)[name], received(left, right)
    assert_frame_equal(InSlices(inputs).frame(node), Evaluator(inputs).frame(node), check_exact=True)


@pytest.fixture
def slices(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The slices of pairs that were computed."""
    made: list[int] = []
    original = Expansion._slice

    def counting(expansion: Expansion, starts: object, start: int, end: int) -> object:
        made.append(end - start)
        return original(expansion, starts, start, end)  # type: ignore[arg-type]

    monkeypatch.setattr(Expansion, "_slice", counting)
    return made


ROWS = [(1, 1, 1.0), (1, 2, 2.0), (1, 3, 3.0)]


@pytest.mark.parametrize("name", EAGER)
def test_no_pairs_are_computed(name: str, slices: list[int]) -> None:
    InSlices(received(ROWS, ROWS * 2)).frame(EAGER[name])
    assert not slices


@pytest.mark.parametrize("name", OTHERS)
def test_other_aggregates_read_all_pairs(name: str, slices: list[int]) -> None:
    InSlices(received(ROWS, ROWS * 2)).frame(OTHERS[name])
    assert sum(slices) == 18


def test_projections_are_not_computed_for_rows_without_a_match() -> None:
    left = pl.DataFrame({"k": [1, 1, 2], "x": [1, 2, 1]})
    right = pl.DataFrame({"k": [1, 1, 2, 3], "t": ["5", "6", "7", "no number"]})
    joined = nodes.Join(nodes.Receive(0, ("k", "x")), nodes.Receive(1, ("k", "t")), ("k",), "inner", "partition")
    read = nodes.WithColumns(joined, (pl.col("t").cast(pl.Int64).alias("y"),))
    found = InSlices(Received({0: left, 1: right})).frame(nodes.Partial(read, ("x",), {"s": Sum("y")}))
    assert found.rows() == [(1, 18), (2, 11)]


def test_pieces_of_the_left_side_are_merged(slices: list[int]) -> None:
    left, right = received(ROWS, ROWS * 2).frames.values()
    streamed = Received({1: right}, {0: lambda: iter([left.head(1), left.tail(2), left])})
    node = nodes.Partial(JOINED, ("n",), {"c": Count(), "s": Sum("y")})
    assert InSlices(streamed).frame(node).rows() == [(1, 12, 24), (2, 12, 24), (3, 12, 24)]
    assert not slices
