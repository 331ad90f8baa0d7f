"""Stages with joins in slices send the same rows as without slices."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from cauce.operators.aggregates import (
    Aggregate,
    Collect,
    Count,
    First,
    Max,
    Mean,
    Min,
    Quantile,
    Sum,
)
from cauce.operators.order import POSITION, SortKey
from cauce.plan import nodes
from cauce.plan.evaluate import Evaluator, Received
from cauce.process import progress
from cauce.scan.cells.kinds import Integer
from cauce.scan.tables import Column, TableSpec

KEYS = st.none() | st.integers(0, 2)
VALUES = st.none() | st.integers(-(2**62), 2**62)
FLOATS = st.none() | st.floats(allow_nan=False)
LISTS = st.none() | st.lists(st.sampled_from("pqr"), max_size=3)
ROWS = st.lists(st.tuples(KEYS, VALUES, FLOATS, LISTS), max_size=10)
Rows = list[tuple[int | None, int | None, float | None, list[str] | None]]

LEFT = nodes.Receive(0, ("k", "x", "f", "l", POSITION))
RIGHT = nodes.Receive(1, ("k", "y", "g", "m"))
JOINED = nodes.Join(LEFT, RIGHT, ("k",), "inner", "partition")
OUTER = nodes.Join(LEFT, RIGHT, ("k",), "left", "partition")
AGGREGATES: Mapping[str, Aggregate] = {
    "n": Count(),
    "ny": Count("y"),
    "s": Sum("x"),
    "sd": Sum("d"),
    "sf": Sum("g"),
    "a": Mean("f"),
    "low": Min("y"),
    "high": Max("x"),
    "first": First("y"),
    "half": Quantile("x", 0.5),
    "all": Collect("y"),
}
DECIMALS = (pl.col("y").cast(pl.Decimal(38, 2)).alias("d"),)


def grouped(child: nodes.Node, *keys: str) -> nodes.Node:
    return nodes.Partial(nodes.WithColumns(child, DECIMALS), keys, AGGREGATES)


TOP = nodes.TopK(OUTER, 3, (SortKey("x", descending=True), SortKey("y")), (), "cut")
TIES = nodes.TopK(JOINED, 1, (SortKey("y"),), ("x",), "all")
EXPLODED = nodes.Explode(nodes.Explode(JOINED, "l", ("k", "m")), "m", ("k", "l"))
TWICE = nodes.Join(
    nodes.Select(JOINED, (pl.col("k"), pl.col("x"))), nodes.Receive(1, ("k", "y")), ("k",), "left", "partition"
)
BOTH = nodes.Concat(
    nodes.Select(JOINED, (pl.col("x"),)), nodes.Select(OUTER, (pl.col("y").cast(pl.Int128).alias("x"),))
)
ENDS = {
    "partial by key": grouped(JOINED, "k"),
    "partial of all": grouped(OUTER),
    "partial by a value": grouped(JOINED, "x"),
    "final": nodes.Final(grouped(JOINED, "k"), ("k",), AGGREGATES),
    "top": TOP,
    "ties": TIES,
    "distinct": nodes.Distinct(OUTER, ("k", "y")),
    "rows": nodes.Pick(OUTER, ("x", "y", "l")),
    "filtered": nodes.Filter(JOINED, (pl.col("x") > 0, pl.col("y").is_not_null())),
    "exploded": nodes.Partial(EXPLODED, ("l", "m"), {"n": Count()}),
    "joined twice": nodes.Partial(TWICE, ("x",), {"n": Count(), "s": Sum("y")}),
    "concat": nodes.Partial(BOTH, (), {"n": Count(), "s": Sum("x")}),
    "sorted": nodes.Sort(JOINED, (SortKey("y"),)),
}


class InSlices(Evaluator):
    def __init__(self, received: Received, slice_cells: int) -> None:
        super().__init__(received)
        self.slice_cells = slice_cells


def received(left: Rows, right: Rows) -> Received:
    frames = []
    for names, rows in (("kxfl", left), ("kygm", right)):
        dtypes = [pl.Int64, pl.Int64, pl.Float64, pl.List(pl.String)]
        frames.append(pl.DataFrame(rows, schema=dict(zip(names, dtypes, strict=True)), orient="row"))
    return Received({0: frames[0].with_row_index(POSITION).cast({POSITION: pl.Int64}), 1: frames[1]})


@pytest.mark.parametrize("end", ENDS)
@settings(max_examples=30)
@given(left=ROWS, right=ROWS, slice_cells=st.sampled_from([1, 7]))
def test_a_node_gives_the_same_rows_for_any_size_of_slices(end: str, left: Rows, right: Rows, slice_cells: int) -> None:
    node = ENDS[end]
    inputs = received(left, right)
    whole = Evaluator(inputs).frame(node)
    assert_frame_equal(InSlices(inputs, slice_cells).frame(node), whole, check_exact=True)


def test_many_matches_are_counted_as_duckdb_counts_them() -> None:
    left = pl.DataFrame({"k": [n % 3 for n in range(700)], "x": [n % 11 for n in range(700)]})
    right = pl.DataFrame({"k": [n % 4 for n in range(900)], "y": range(900)})
    joined = nodes.Join(nodes.Receive(0, ("k", "x")), nodes.Receive(1, ("k", "y")), ("k",), "inner", "partition")
    group = {"n": Count(), "s": Sum("y")}
    ours = InSlices(Received({0: left, 1: right}), 1000).frame(
        nodes.Final(nodes.Partial(joined, ("x",), group), ("x",), group)
    )
    expected = duckdb.sql('SELECT x, count(*), sum(y) FROM "left" JOIN "right" USING (k) GROUP BY x ORDER BY x')
    assert [tuple(map(int, row)) for row in ours.rows()] == [tuple(map(int, row)) for row in expected.fetchall()]


def test_every_slice_counts_as_progress() -> None:
    frames = {0: pl.DataFrame({"k": [1] * 20, "x": [1] * 20}), 1: pl.DataFrame({"k": [1] * 20, "y": [1] * 20})}
    joined = nodes.Join(nodes.Receive(0, ("k", "x")), nodes.Receive(1, ("k", "y")), ("k",), "inner", "partition")
    ticks: list[int] = []
    progress.listen(lambda: ticks.append(1))
    InSlices(Received(frames), 100).frame(nodes.Partial(joined, ("k",), {"n": Max("y")}))
    progress.listen(None)
    assert len(ticks) >= 20 * 20 // 100


MANY = """
import resource
import polars as pl
from cauce.operators.aggregates import Count
from cauce.plan import nodes
from cauce.plan.evaluate import Evaluator, Received

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

def count(rows):
    left = pl.DataFrame({"k": [1] * rows, "l": [["p", "q"]] * rows})
    right = pl.DataFrame({"k": [1] * rows})
    joined = nodes.Join(nodes.Receive(0, ("k", "l")), nodes.Receive(1, ("k",)), ("k",), "inner", "partition")
    exploded = nodes.Explode(joined, "l", ())
    return Evaluator(Received({0: left, 1: right})).frame(nodes.Partial(exploded, ("l",), {"n": Count()})).rows()

count(10)
before = peak()
print(count(3000), peak() - before)
"""


@pytest.mark.slow
def test_a_join_of_nine_million_rows_takes_little_memory() -> None:
    done = subprocess.run([sys.executable, "-c", MANY], capture_output=True, text=True, check=True)
    rows, _, taken = done.stdout.rpartition(" ")
    assert rows == "[('p', 9000000), ('q', 9000000)]"
    assert int(taken) < 400 << 20


class Forgetful:
    """A part that computes its rows on every call: its arrays are freed at once, and their ids are reused."""

    height = 4

    def usable(self, used: frozenset[str]) -> np.ndarray:
        return np.array([0, 1] if "x" in used else [2, 3])

    def unreadable(self, used: frozenset[str]) -> frozenset[str]:
        return used & {"x"}

    def column(self, name: str, rows: np.ndarray | None) -> pl.Series:
        values = pl.Series(name, [10, 20, 30, 40])
        return values if rows is None else values[rows.tolist()]

    def find(self, name: str, texts: object, rows: np.ndarray | None) -> np.ndarray:
        raise NotImplementedError

    def filled(self, name: str, rows: np.ndarray | None) -> None:
        return None


def test_scans_are_the_same_rows_by_value() -> None:
    table = TableSpec("t", ("t.csv",), {name: Column(name, Integer()) for name in "xy"})
    evaluator = Evaluator(Received({}), Forgetful())
    for used, wanted in (({"x"}, [10, 20]), ({"y"}, [30, 40]), ({"x", "y"}, [10, 20])):
        found = evaluator.frame(nodes.Scan(table, frozenset(used)))
        assert found[min(used)].to_list() == wanted
