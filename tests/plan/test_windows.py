"""Window functions and frames, compared with DuckDB."""

from __future__ import annotations

import math
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from cauce.errors import PlanError
from cauce.plan import Relation, agg, asc, desc, window
from cauce.plan.relation import By
from tests.plan.duck import answer_of, canonical, duck_rows, table_of

T = pl.DataFrame(
    {
        "id": range(16),
        "k": ["a", None, "b", "a", None, "c", "b", "a", "b", "a", None, "b", "a", "a", "b", "d"],
        "x": [1, 2, None, 1, 2, 3, None, 4, 7, 4, 9, 1, None, 10, 3, 5],
        "d": [date(2024, 1, 1) + timedelta(days=n * n % 11) for n in range(16)],
        "f": [0.1, 1e15, 0.3, None, -1e15, 0.2, 0.7, 1.5, 0.1, 0.2, 0.3, -0.25, 0.001, 2.5, None, 0.5],
        "m": [Decimal(n * 7 % 13) / 4 if n % 5 else None for n in range(16)],
    }
)
t = table_of("t", T)
FRAMES = {
    "rows -2 to 0": (window.rows(-2, 0), "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"),
    "rows -1 to 1": (window.rows(-1, 1), "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING"),
    "rows 1 to 2": (window.rows(1, 2), "ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING"),
    "rows to the end": (window.rows(0, None), "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"),
    "all rows": (window.rows(None, None), "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"),
    "rows up to here": (window.rows(None, 0), "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
    "up to the peers": (window.range(None, 0), "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
    "from the peers": (window.range(0, None), "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"),
    "groups -1 to 1": (window.groups(-1, 1), "GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING"),
    "groups to the end": (window.groups(1, None), "GROUPS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING"),
    "the default": (None, ""),
}
NUMBERING = {
    "n": (window.row_number(), "row_number()"),
    "r": (window.rank(), "rank()"),
    "dr": (window.dense_rank(), "dense_rank()"),
    "pr": (window.percent_rank(), "percent_rank()"),
    "cd": (window.cume_dist(), "cume_dist()"),
    "nt": (window.ntile(3), "ntile(3)"),
    "nt9": (window.ntile(9), "ntile(9)"),
    "lag": (window.lag("x"), "lag(x)"),
    "lag2": (window.lag("f", 2, 0.5), "lag(f, 2, 0.5)"),
    "lead": (window.lead("k", 1), "lead(k, 1)"),
    "lag_filled": (window.lag("x", 1, ignore_nulls=True), "lag(x, 1 IGNORE NULLS)"),
    "lead_filled": (window.lead("f", 2, ignore_nulls=True), "lead(f, 2 IGNORE NULLS)"),
}
OF_FRAMES = {
    "s": (window.sum("x"), "sum(x)"),
    "sm": (window.sum("m"), "sum(m)"),
    "n": (window.count(), "count(*)"),
    "nx": (window.count("x"), "count(x)"),
    "a": (window.mean("x"), "avg(x)"),
    "am": (window.mean("m"), "avg(m)"),
    "low": (window.min("x"), "min(x)"),
    "high": (window.max("f"), "max(f)"),
    "last_text": (window.max("k"), "max(k)"),
    "fv": (window.first_value("x"), "first_value(x)"),
    "lv": (window.last_value("x"), "last_value(x)"),
    "nv": (window.nth_value("x", 2), "nth_value(x, 2)"),
    "fv_filled": (window.first_value("f", ignore_nulls=True), "first_value(f IGNORE NULLS)"),
    "lv_filled": (window.last_value("f", ignore_nulls=True), "last_value(f IGNORE NULLS)"),
    "nv_filled": (window.nth_value("m", 2, ignore_nulls=True), "nth_value(m, 2 IGNORE NULLS)"),
    "med": (window.over(agg.median("x")), "median(x)"),
    "sd": (window.over(agg.sum("x", min_count=1, distinct=True)), "sum(DISTINCT x)"),
    "nd": (window.over(agg.n_unique("k")), "count(DISTINCT k)"),
}


def check(tmp_path: Path, relation: Relation, query: str) -> None:
    frames = {"t": T}
    assert canonical(answer_of(tmp_path, frames, [t], relation)) == canonical(duck_rows(frames, query))


ORDERS: dict[str, tuple[list[By], str]] = {
    "by a number": (["x", "id"], "ORDER BY x NULLS LAST, id"),
    "descending": ([desc("x"), "id"], "ORDER BY x DESC NULLS LAST, id"),
    "nulls first": ([asc("x", nulls_first=True), "id"], "ORDER BY x NULLS FIRST, id"),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("partition", ["k", ""])
def test_rows_are_numbered(tmp_path: Path, partition: str, order: str) -> None:
    by, order_sql = ORDERS[order]
    functions = {name: function for name, (function, _) in NUMBERING.items()}
    relation = t.window(partition_by=partition or (), order_by=by, **functions).select("id", *functions)
    over = f"OVER ({f'PARTITION BY {partition}' if partition else ''} {order_sql})"
    columns = ", ".join(f"{call} {over}" for _, call in NUMBERING.values())
    check(tmp_path, relation, f"SELECT id, {columns} FROM t")


def test_rows_that_tie_have_the_same_rank(tmp_path: Path) -> None:
    names = ("r", "dr", "pr", "cd")
    functions = {name: NUMBERING[name][0] for name in names}
    relation = t.window(partition_by="k", order_by=desc("x"), **functions).select("id", *names)
    columns = ", ".join(f"{NUMBERING[name][1]} OVER (PARTITION BY k ORDER BY x DESC NULLS LAST)" for name in names)
    check(tmp_path, relation, f"SELECT id, {columns} FROM t")


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("partition", ["k", ""])
def test_frames(tmp_path: Path, partition: str, frame: str) -> None:
    given, frame_sql = FRAMES[frame]
    functions = {name: function for name, (function, _) in OF_FRAMES.items()}
    relation = t.window(partition_by=partition or (), order_by=["x", "id"], frame=given, **functions)
    over = f"OVER ({f'PARTITION BY {partition}' if partition else ''} ORDER BY x NULLS LAST, id {frame_sql})"
    columns = ", ".join(f"{call} {over}" for _, call in OF_FRAMES.values())
    check(tmp_path, relation.select("id", *functions), f"SELECT id, {columns} FROM t")


@pytest.mark.parametrize(
    ("given", "bounds"),
    [
        (window.range(-2, 0), "2 PRECEDING AND CURRENT ROW"),
        (window.range(-1, 3), "1 PRECEDING AND 3 FOLLOWING"),
        (window.range(1, 4), "1 FOLLOWING AND 4 FOLLOWING"),
        (window.range(None, -2), "UNBOUNDED PRECEDING AND 2 PRECEDING"),
    ],
)
@pytest.mark.parametrize("down", [False, True])
def test_ranges_of_numbers(tmp_path: Path, given: window.Frame, bounds: str, down: bool) -> None:
    names = ("s", "n", "low", "med")
    functions = {name: OF_FRAMES[name][0] for name in names}
    relation = t.window(partition_by="k", order_by=desc("x") if down else "x", frame=given, **functions)
    order = f"ORDER BY x {'DESC' if down else ''} NULLS LAST"
    over = f"OVER (PARTITION BY k {order} RANGE BETWEEN {bounds})"
    columns = ", ".join(f"{OF_FRAMES[name][1]} {over}" for name in names)
    check(tmp_path, relation.select("id", *names), f"SELECT id, {columns} FROM t")


def test_groups_of_rows_that_tie(tmp_path: Path) -> None:
    relation = t.window(partition_by="k", order_by="x", frame=window.groups(-1, 0), s=window.sum("x"), n=window.count())
    over = "OVER (PARTITION BY k ORDER BY x NULLS LAST GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW)"
    check(tmp_path, relation.select("id", "s", "n"), f"SELECT id, sum(x) {over}, count(*) {over} FROM t")


def test_ranges_of_dates(tmp_path: Path) -> None:
    relation = t.window(order_by="d", frame=window.range(timedelta(days=-3), 0), s=window.sum("x"), n=window.count())
    over = "OVER (ORDER BY d RANGE BETWEEN INTERVAL 3 DAYS PRECEDING AND CURRENT ROW)"
    check(tmp_path, relation.select("id", "s", "n"), f"SELECT id, sum(x) {over}, count(*) {over} FROM t")


def test_sums_of_floats_over_frames_are_exact(tmp_path: Path) -> None:
    relation = t.window(order_by="id", frame=window.rows(-3, 0), s=window.sum("f")).select("id", "s")
    values = T["f"].to_list()
    frames = [[each for each in values[max(n - 3, 0) : n + 1] if each is not None] for n in range(T.height)]

    expected = [(n, math.fsum(frame) if frame else None) for n, frame in enumerate(frames)]
    assert sorted(answer_of(tmp_path, {"t": T}, [t], relation)) == expected  # type: ignore[type-var]


def test_a_window_of_groups_stays_in_their_partitions(tmp_path: Path) -> None:
    groups = t.group_by("k", "x", nulls=True).agg(n=agg.count())
    relation = groups.window(partition_by="k", order_by=[desc("n"), "x"], place=window.row_number())
    number = "row_number() OVER (PARTITION BY k ORDER BY n DESC, x NULLS LAST)"
    check(tmp_path, relation, f"SELECT *, {number} FROM (SELECT k, x, count(*) AS n FROM t GROUP BY k, x)")


def test_rows_without_a_window(tmp_path: Path) -> None:
    relation = t.filter(pl.col("x") > 100).window(order_by="x", n=window.row_number(), s=window.sum("x"))
    assert answer_of(tmp_path, {"t": T}, [t], relation.select("n", "s")) == []


MISTAKES: dict[str, tuple[dict[str, object], str]] = {
    "no function": ({"order_by": "x"}, "window needs a function"),
    "an aggregate": ({"n": agg.count()}, "window: n must be a window function"),
    "a name that exists": ({"x": window.rank()}, "x is a column already"),
    "unknown column": ({"s": window.sum("q")}, "no column q here"),
    "unknown partition key": ({"partition_by": "q", "n": window.rank()}, "no column q here"),
    "frame of a text": ({"frame": "rows", "n": window.count()}, "window: frame must be window.rows"),
    "range without an order": ({"frame": window.range(-1, 0), "n": window.count()}, "exactly one column in order_by"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_wrong_window_says_what_to_write(case: str) -> None:
    arguments, message = MISTAKES[case]
    with pytest.raises(PlanError, match=message):
        t.window(**arguments)  # type: ignore[arg-type]
