"""Limits, orders of nulls and set operations, compared with DuckDB."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from cauce.plan import Relation, agg, asc, desc
from tests.plan.duck import answer_of, canonical, duck_rows, table_of

L = pl.DataFrame({"k": ["a", None, "b", "a", None, "c", "b", "a"], "x": [1, 2, None, 1, 2, 3, None, 4]})
R = pl.DataFrame({"k": ["a", None, "b", "d", "a", None, None], "x": [1, 2, 7, None, 1, 2, 2]})
FRAMES = {"l": L, "r": R}
left, right = table_of("l", L), table_of("r", R)

CASES: dict[str, tuple[Relation, str]] = {
    "limit": (left.limit(3, by=["x", "k"]), "SELECT * FROM l ORDER BY x NULLS LAST, k NULLS LAST LIMIT 3"),
    "limit and offset": (
        left.limit(3, by=[desc("k"), "x"], offset=2),
        "SELECT * FROM l ORDER BY k DESC NULLS LAST, x NULLS LAST LIMIT 3 OFFSET 2",
    ),
    "offset alone": (
        left.limit(None, by=["k", "x"], offset=5),
        "SELECT * FROM l ORDER BY k NULLS LAST, x NULLS LAST OFFSET 5",
    ),
    "an offset after the last row": (left.limit(5, by="k", offset=100), "SELECT * FROM l OFFSET 100"),
    "no rows": (left.limit(0), "SELECT * FROM l LIMIT 0"),
    "limit without an order": (left.limit(4), "SELECT * FROM l ORDER BY k NULLS LAST, x NULLS LAST LIMIT 4"),
    "limit of groups": (
        left.group_by("k", nulls=True).agg(n=agg.count()).limit(2, by=[desc("n"), "k"], offset=1),
        "SELECT k, count(*) AS n FROM l GROUP BY k ORDER BY n DESC, k NULLS LAST LIMIT 2 OFFSET 1",
    ),
    "nulls first": (
        left.limit(4, by=[asc("x", nulls_first=True), asc("k", nulls_first=True)]),
        "SELECT * FROM l ORDER BY x NULLS FIRST, k NULLS FIRST LIMIT 4",
    ),
    "nulls first, descending": (
        left.limit(3, by=[desc("k", nulls_first=True), "x"]),
        "SELECT * FROM l ORDER BY k DESC NULLS FIRST, x NULLS LAST LIMIT 3",
    ),
    "union all": (left.concat(right), "SELECT * FROM l UNION ALL SELECT * FROM r"),
    "union": (left.union(right), "SELECT * FROM l UNION SELECT * FROM r"),
    "intersect": (left.intersect(right), "SELECT * FROM l INTERSECT SELECT * FROM r"),
    "intersect all": (
        left.intersect(right, distinct=False),
        "SELECT * FROM l INTERSECT ALL SELECT * FROM r",
    ),
    "except": (left.difference(right), "SELECT * FROM l EXCEPT SELECT * FROM r"),
    "except all": (left.difference(right, distinct=False), "SELECT * FROM l EXCEPT ALL SELECT * FROM r"),
    "except the other way": (right.difference(left, distinct=False), "SELECT * FROM r EXCEPT ALL SELECT * FROM l"),
    "groups of a union": (
        left.concat(right).group_by("k", nulls=True).agg(s=agg.sum("x", min_count=1)),
        "SELECT k, sum(x) FROM (SELECT * FROM l UNION ALL SELECT * FROM r) GROUP BY k",
    ),
    "a union of unions": (
        left.union(right).union(left.filter(pl.col("x") > 1)).agg(n=agg.count()),
        "SELECT count(*) FROM (SELECT * FROM l UNION SELECT * FROM r)",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_rows_are_those_of_duckdb(tmp_path: Path, case: str) -> None:
    relation, query = CASES[case]
    found = answer_of(tmp_path, FRAMES, [left, right], relation)
    assert canonical(found) == canonical(duck_rows(FRAMES, query))


def test_an_answer_is_sorted_with_nulls_first(tmp_path: Path) -> None:
    relation = left.select("x").distinct("x", nulls=True).sort(desc("x", nulls_first=True))
    assert answer_of(tmp_path, FRAMES, [left, right], relation) == [(None,), (4,), (3,), (2,), (1,)]
