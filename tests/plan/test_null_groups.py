"""Group-bys in which null is a key, sums of no values, filtered and distinct aggregates, compared with DuckDB."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from cauce.errors import PlanError
from cauce.plan import Relation, agg
from tests.plan.duck import answer_of, canonical, duck_rows, table_of

T = pl.DataFrame(
    {
        "k": ["a", None, "b", "a", None, "c", "b", None, "d"],
        "j": [1, 1, None, 1, None, 2, 2, 1, None],
        "x": [1, 2, None, 4, 5, None, 7, 2, None],
        "f": [0.1, 0.2, 0.3, 1e15, None, -1e15, 0.7, 0.25, None],
    }
)
t = table_of("t", T)
ODD = pl.col("x") % 2 == 1

CASES: dict[str, tuple[Relation, str]] = {
    "one key": (
        t.group_by("k", nulls=True).agg(n=agg.count(), s=agg.sum("x", min_count=1), f=agg.sum("f", min_count=1)),
        "SELECT k, count(*), sum(x), fsum(f) FROM t GROUP BY k",
    ),
    "two keys": (
        t.group_by("k", "j", nulls=True).agg(n=agg.count("x"), m=agg.mean("x"), low=agg.min("f")),
        "SELECT k, j, count(x), avg(x), min(f) FROM t GROUP BY k, j",
    ),
    "all rows": (
        t.filter(pl.col("x") > 100).agg(n=agg.count(), s=agg.sum("x", min_count=1)),
        "SELECT count(*), sum(x) FROM t WHERE x > 100",
    ),
    "distinct rows": (t.distinct("k", "j", nulls=True), "SELECT DISTINCT k, j FROM t"),
    "distinct values": (
        t.group_by("k", nulls=True).agg(
            n=agg.n_unique("x"), s=agg.sum("x", min_count=1, distinct=True), m=agg.mean("x", distinct=True)
        ),
        "SELECT k, count(DISTINCT x), sum(DISTINCT x), avg(DISTINCT x) FROM t GROUP BY k",
    ),
    "filtered": (
        t.group_by("k", nulls=True).agg(
            n=agg.count(where=ODD), s=agg.sum("x", min_count=1, where=ODD), m=agg.median("x", where=ODD)
        ),
        "SELECT k, count(*) FILTER (x % 2 = 1), sum(x) FILTER (x % 2 = 1), median(x) FILTER (x % 2 = 1) "
        "FROM t GROUP BY k",
    ),
    "filtered and distinct": (
        t.group_by("j", nulls=True).agg(n=agg.n_unique("x", where=ODD), s=agg.sum("x", distinct=True, where=ODD)),
        "SELECT j, count(DISTINCT x) FILTER (x % 2 = 1), coalesce(sum(DISTINCT x) FILTER (x % 2 = 1), 0) "
        "FROM t GROUP BY j",
    ),
    "filtered, all rows": (
        t.agg(n=agg.count("f", where=ODD), u=agg.n_unique("k", where=ODD), s=agg.sum("x", where=pl.col("x") > 100)),
        "SELECT count(f) FILTER (x % 2 = 1), count(DISTINCT k) FILTER (x % 2 = 1), 0 FROM t",
    ),
    "first rows of each key": (
        t.top_k(1, by=["x", "f"], per="k", nulls=True).select("k", "x"),
        "SELECT DISTINCT ON (k) k, x FROM t ORDER BY k, x NULLS LAST, f NULLS LAST",
    ),
    "a coarser group-by of groups": (
        t.group_by("k", "j", nulls=True).agg(n=agg.count()).group_by("j", nulls=True).agg(n=agg.sum("n")),
        "SELECT j, sum(n) FROM (SELECT k, j, count(*) AS n FROM t GROUP BY k, j) GROUP BY j",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_groups_are_those_of_duckdb(tmp_path: Path, case: str) -> None:
    relation, query = CASES[case]
    frames = {"t": T}
    assert canonical(answer_of(tmp_path, frames, [t], relation)) == canonical(duck_rows(frames, query))


@pytest.mark.parametrize("distinct", [False, True])
def test_a_condition_of_an_aggregate_looks_at_one_row(distinct: bool) -> None:
    with pytest.raises(PlanError, match="looks at more than one row"):
        t.agg(s=agg.sum("x", where=pl.col("x") == pl.col("x").max(), distinct=distinct))


def test_first_of_filtered_rows_is_the_first_for_which_the_condition_holds(tmp_path: Path) -> None:
    relation = t.group_by("k", nulls=True).agg(x=agg.first("x", where=pl.col("x") > 1))
    expected = {"a": 4, None: 2, "b": 7, "c": None, "d": None}
    assert dict(answer_of(tmp_path, {"t": T}, [t], relation)) == expected  # type: ignore[arg-type]
