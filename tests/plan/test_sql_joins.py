"""All kinds of joins, with further conditions and with null keys, compared with DuckDB."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from cauce.errors import CauceError, PlanError
from cauce.plan import Relation, Table, agg
from cauce.plan.evaluate import Evaluator
from tests.plan.duck import answer_of, canonical, duck_rows, table_of

L = pl.DataFrame(
    {
        "k": ["a", None, "b", "a", None, "c", "b", "e"],
        "i": [1, 1, None, 2, None, 2, 2, 3],
        "x": [1, 2, 3, 4, 5, None, 7, 8],
    }
)
R = pl.DataFrame(
    {
        "k": ["a", None, "b", "b", "d", "a", None],
        "i": [1, 1, 2, None, 2, 2, None],
        "y": [3, 2, 1, 6, 5, None, 9],
    }
)
FRAMES = {"l": L, "r": R}
HOWS = ("inner", "left", "right", "full", "semi", "anti")
LESS = pl.col("x") < pl.col("y")


def tables() -> tuple[Table, Table]:
    return table_of("l", L), table_of("r", R)


def query(how: str, condition: str) -> str:
    """The join in SQL; a key is the one of the side that has a row."""
    columns = "l.k, l.i, l.x" if how in ("semi", "anti") else "coalesce(l.k, r.k), l.i, l.x, r.i, r.y"
    return f"SELECT {columns} FROM l {how.upper()} JOIN r ON {condition}"


def check(tmp_path: Path, relation: Relation, expected: str) -> None:
    left, right = tables()
    found = answer_of(tmp_path, FRAMES, [left, right], relation)
    assert canonical(found) == canonical(duck_rows(FRAMES, expected))


def sides() -> tuple[Relation, Relation]:
    left, right = tables()
    return left, right.select("k", pl.col("i").alias("j"), "y")


@pytest.mark.parametrize("strategy", ["broadcast", "partition", None])
@pytest.mark.parametrize("how", HOWS)
def test_a_join_on_a_key(tmp_path: Path, how: str, strategy: str | None) -> None:
    left, right = sides()
    check(tmp_path, left.join(right, on="k", how=how, strategy=strategy), query(how, "l.k = r.k"))  # type: ignore[arg-type]


@pytest.mark.parametrize("strategy", ["broadcast", "partition"])
@pytest.mark.parametrize("how", HOWS)
def test_a_join_on_a_key_and_a_condition(tmp_path: Path, how: str, strategy: str) -> None:
    left, right = sides()
    joined = left.join(right, on="k", how=how, strategy=strategy, where=LESS)  # type: ignore[arg-type]
    check(tmp_path, joined, query(how, "l.k = r.k AND x < y"))


@pytest.mark.parametrize("strategy", ["broadcast", "partition"])
@pytest.mark.parametrize("how", HOWS)
def test_a_join_in_which_nulls_are_equal(tmp_path: Path, how: str, strategy: str) -> None:
    left, right = sides()
    joined = left.join(right, on="k", how=how, strategy=strategy, nulls_equal=True, where=LESS)  # type: ignore[arg-type]
    check(tmp_path, joined, query(how, "l.k IS NOT DISTINCT FROM r.k AND x < y"))


@pytest.mark.parametrize("slice_cells", [5, 1 << 20])
@pytest.mark.parametrize("how", HOWS)
def test_a_join_on_a_condition_alone(
    tmp_path: Path, how: str, slice_cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Evaluator, "slice_cells", slice_cells)
    left, right = tables()
    joined = left.join(right.select(k2="k", j="i", y="y"), how=how, where=LESS)  # type: ignore[arg-type]
    columns = "l.k, l.i, l.x" if how in ("semi", "anti") else "l.k, l.i, l.x, r.k, r.i, r.y"
    expected = f"SELECT {columns} FROM l {how.upper()} JOIN r ON x < y"
    if how in ("semi", "anti"):
        negation = "NOT " if how == "anti" else ""
        expected = f"SELECT * FROM l WHERE {negation}EXISTS (SELECT 1 FROM r WHERE x < y)"
    check(tmp_path, joined, expected)


def test_a_cross_join(tmp_path: Path) -> None:
    left, right = tables()
    check(tmp_path, left.join(right.select(z="y"), how="cross"), "SELECT l.*, r.y FROM l CROSS JOIN r")


@pytest.mark.parametrize("how", HOWS)
def test_a_conditional_join_below_a_group_by(tmp_path: Path, how: str) -> None:
    left, right = sides()
    joined = left.join(right, on="k", how=how, where=LESS).group_by("k", nulls=True).agg(n=agg.count())  # type: ignore[arg-type]
    column = "l.k" if how in ("semi", "anti") else "coalesce(l.k, r.k)"
    check(tmp_path, joined, f"SELECT {column}, count(*) FROM l {how.upper()} JOIN r ON l.k = r.k AND x < y GROUP BY 1")


MISTAKES: dict[str, tuple[dict[str, object], str]] = {
    "neither": ({}, "join: on needs a column"),
    "cross with keys": ({"how": "cross", "on": "k"}, "a cross join has no keys and conditions"),
    "where of a text": ({"on": "k", "where": "x < y"}, "join: where must be conditions"),
    "where of an unknown column": ({"on": "k", "where": pl.col("q") > 1}, "no column q on either side"),
    "unknown how": ({"on": "k", "how": "outer"}, "unknown how 'outer'; expected one of inner, left, right, full"),
    "nulls_equal": ({"on": "k", "nulls_equal": 1}, "nulls_equal must be True or False"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_wrong_join_says_what_to_write(case: str) -> None:
    arguments, message = MISTAKES[case]
    left, right = sides()
    with pytest.raises(PlanError, match=message):
        left.join(right, **arguments)  # type: ignore[arg-type]


def test_an_optional_scalar_is_null_if_it_is_missing(tmp_path: Path) -> None:
    left, right = tables()
    scalar = right.filter(pl.col("y") > 100).select(z="y")
    check(tmp_path, left.with_scalars(scalar, optional=True), "SELECT *, (SELECT y FROM r WHERE y > 100) FROM l")


def test_an_optional_scalar_is_the_value_of_the_only_row(tmp_path: Path) -> None:
    left, right = tables()
    scalar = right.filter(pl.col("y") == 6).select(z="y")
    check(tmp_path, left.with_scalars(scalar, optional=True), "SELECT *, (SELECT y FROM r WHERE y = 6) FROM l")


def test_more_than_one_row_is_no_scalar(tmp_path: Path) -> None:
    left, right = tables()
    relation = left.with_scalars(right.select(z="y"), optional=True)
    with pytest.raises(CauceError, match="with_scalars has more than one row"):
        answer_of(tmp_path, FRAMES, [left, right], relation)
