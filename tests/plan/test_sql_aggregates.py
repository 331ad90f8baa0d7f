"""Aggregates of SQL, compared with DuckDB."""

from __future__ import annotations

import math
import random
import statistics
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

from cauce.errors import PlanError
from cauce.operators.aggregates import Aggregate, FirstBy, ListOf, Moments, StringAgg
from cauce.operators.order import SortKey
from cauce.plan import Relation, agg, asc, desc
from tests.operators.folding import fold, placed
from tests.plan.duck import answer_of, canonical, duck_rows, table_of

ROWS = 24
rng = random.Random(7)


def some(*values: object) -> list[object]:
    return [rng.choice(values) for _ in range(ROWS)]


T = pl.DataFrame(
    {
        "id": range(ROWS),
        "k": some("a", "b", "c", None),
        "x": some(1, 2, 3, 5, 8, None),
        "w": some("p", "q", "r", "s", None),
        "f": some(0.5, 0.25, -3.75, 10.125, 2.0, None),
        "m": some(Decimal("1.25"), Decimal("7.5"), Decimal("-2"), Decimal("0.75"), None),
    },
    schema_overrides={"x": pl.Int64, "m": pl.Decimal(38, 2)},
)
t = table_of("t", T)
BIG = pl.col("id") > 9

AGGREGATES: dict[str, tuple[Aggregate, str]] = {
    "var_samp": (agg.var("x"), "var_samp(x)"),
    "var_pop": (agg.var("f", ddof=0), "var_pop(f)"),
    "stddev_samp": (agg.std("m"), "stddev_samp(m)"),
    "stddev_pop": (agg.std("f", ddof=0), "stddev_pop(f)"),
    "covar_samp": (agg.cov("x", "f"), "covar_samp(x, f)"),
    "covar_pop": (agg.cov("m", "f", ddof=0), "covar_pop(m, f)"),
    "corr": (agg.corr("x", "f"), "corr(x, f)"),
    "var_filter": (agg.var("x", where=BIG), "var_samp(x) FILTER (id > 9)"),
    "var_distinct": (agg.var("x", distinct=True), "var_samp(DISTINCT x)"),
    "quantile_cont": (agg.quantile("x", 0.3), "quantile_cont(x, 0.3)"),
    "quantile_disc": (agg.quantile_disc("x", 0.3), "quantile_disc(x, 0.3)"),
    "quantile_disc_text": (agg.quantile_disc("w", 0.7), "quantile_disc(w, 0.7)"),
    "first": (agg.first("x", order_by=["f", "id"]), "first(x ORDER BY f NULLS LAST, id)"),
    "first_desc": (agg.first("w", order_by=[desc("f"), "id"]), "first(w ORDER BY f DESC NULLS LAST, id)"),
    "first_nulls": (
        agg.first("x", order_by=[asc("f", nulls_first=True), "id"]),
        "first(x ORDER BY f NULLS FIRST, id)",
    ),
    "last": (agg.last("x", order_by=["f", "id"]), "last(x ORDER BY f NULLS LAST, id)"),
    "last_by_input": (agg.last("w"), "last(w ORDER BY id)"),
    "first_filter": (agg.first("x", order_by="id", where=BIG), "first(x ORDER BY id) FILTER (id > 9)"),
    "list": (agg.list("w", order_by="id"), "list(w ORDER BY id)"),
    "list_filter": (agg.list("w", order_by=desc("id"), where=BIG), "list(w ORDER BY id DESC) FILTER (id > 9)"),
    "string_agg": (agg.string_agg("w", "; ", order_by=desc("id")), "string_agg(w, '; ' ORDER BY id DESC)"),
    "string_agg_distinct": (
        agg.string_agg("w", "-", order_by="w", distinct=True),
        "string_agg(DISTINCT w, '-' ORDER BY w)",
    ),
    "count_if": (agg.count(where=pl.col("x") > 2), "count(*) FILTER (x > 2)"),
}


def check(tmp_path: Path, relation: Relation, query: str) -> None:
    found = answer_of(tmp_path, {"t": T}, [t], relation)
    assert canonical(found) == canonical(duck_rows({"t": T}, query))


GROUPS = list(AGGREGATES)


@pytest.mark.parametrize("chosen", [GROUPS[:9], GROUPS[9:18], GROUPS[18:]], ids=["moments", "picked", "collected"])
@pytest.mark.parametrize("keys", [("k",), ()], ids=["by key", "all rows"])
def test_an_aggregate_is_that_of_duckdb(tmp_path: Path, chosen: list[str], keys: tuple[str, ...]) -> None:
    made = {name: AGGREGATES[name][0] for name in chosen}
    relation = t.group_by(*keys, nulls=True).agg(**made) if keys else t.agg(**made)
    columns = ", ".join([*keys, *(AGGREGATES[name][1] for name in chosen)])
    check(tmp_path, relation, f"SELECT {columns} FROM t {'GROUP BY ALL' if keys else ''}")


@pytest.mark.parametrize("name", AGGREGATES)
def test_an_aggregate_of_no_rows_is_that_of_duckdb(tmp_path: Path, name: str) -> None:
    relation = t.filter(pl.col("id") > 1000).agg(made=AGGREGATES[name][0])
    check(tmp_path, relation, f"SELECT {AGGREGATES[name][1]} FROM t WHERE id > 1000")


def test_arg_min_and_arg_max(tmp_path: Path) -> None:
    relation = t.group_by("k", nulls=True).agg(low=agg.arg_min("id", "f"), high=agg.arg_max("x", "id"))
    expected = []
    for key in T["k"].unique():
        rows = [row for row in T.rows(named=True) if row["k"] == key]
        low = min((row["f"], row["id"]) for row in rows if row["f"] is not None)[1]
        high = max((row["id"], row["x"]) for row in rows if row["x"] is not None)[1]
        expected.append((key, low, high))
    assert canonical(answer_of(tmp_path, {"t": T}, [t], relation)) == canonical(expected)


def test_all_and_any(tmp_path: Path) -> None:
    flagged = t.with_columns(flag=pl.col("x") > 1)
    relation = flagged.group_by("k", nulls=True).agg(every=agg.all("flag"), some=agg.any("flag"))
    check(tmp_path, relation, "SELECT k, bool_and(x > 1), bool_or(x > 1) FROM t GROUP BY k")


def test_all_takes_booleans_only() -> None:
    with pytest.raises(PlanError, match=r"every=agg.all.* needs booleans, but x is an integer"):
        t.agg(every=agg.all("x")).node.check()


def test_any_value_is_a_value_of_the_group(tmp_path: Path) -> None:
    relation = t.group_by("x", nulls=True).agg(any=agg.any_value("x"), none=agg.any_value("k", where=pl.col("id") < 0))
    check(tmp_path, relation, "SELECT DISTINCT x, x, NULL FROM t")


MERGED: dict[str, Aggregate] = {
    "var": Moments("var_samp", "v"),
    "corr": Moments("corr", "v", "u"),
    "first": FirstBy("v", (SortKey("o"),)),
    "last": FirstBy("v", (SortKey("o"),), last=True),
    "list": ListOf("v", (SortKey("o"),)),
    "string_agg": StringAgg("v", (SortKey("o", descending=True),)),
}


@pytest.mark.parametrize("name", MERGED)
def test_a_result_does_not_depend_on_order_or_batches(name: str) -> None:
    values = [rng.choice([rng.uniform(-1e12, 1e12), rng.uniform(-1e-12, 1e-12), None]) for _ in range(60)]
    frame = placed(
        pl.DataFrame(
            {
                "k": [rng.choice(["a", "b", None]) for _ in values],
                "v": values,
                "u": [None if each is None else each * 1e-3 + rng.random() for each in values],
                "o": [rng.choice([1, 2, 3, None]) for _ in values],
            },
            schema_overrides={"v": pl.Float64, "u": pl.Float64},
        )
    )
    whole = fold([frame], ["k"], {"out": MERGED[name]})
    for seed in range(5):
        mixed = frame.sample(fraction=1, shuffle=True, seed=seed)
        batches = [mixed[start : start + 7] for start in range(0, mixed.height, 7)]
        assert fold(batches, ["k"], {"out": MERGED[name]}).rows() == whole.rows()


@pytest.mark.parametrize(
    "values",
    [
        [1e15 + 0.25, 1e15 - 0.5, 1e15, 3.0],
        [1e-300, 2e-300, 7e-300],
        [2**62, 2**62 - 1, -(2**62), 5],
        [Decimal(10) ** 20, Decimal("0.01"), Decimal(-7)],
        [float(n) for n in range(100)],
    ],
    ids=["near", "tiny", "large integers", "decimals", "many"],
)
def test_a_variance_is_exact_and_rounded_once(values: list[float]) -> None:
    column = pl.Series("v", values)
    found = fold([placed(column.to_frame())], [], {"out": Moments("var_samp", "v")})["out"].item()
    exact = statistics.variance([Fraction(each) for each in values])
    assert found == exact.numerator / exact.denominator


def test_the_correlation_of_a_line_is_one() -> None:
    frame = placed(pl.DataFrame({"x": [0.1, 0.7, 1e9], "y": [0.2, 1.4, 2e9]}))
    assert fold([frame], [], {"out": Moments("corr", "x", "y")})["out"].item() == 1.0


def test_a_variance_with_a_value_that_is_not_finite_is_not_a_number() -> None:
    frame = placed(pl.DataFrame({"x": [1.0, math.inf]}))
    assert math.isnan(fold([frame], [], {"out": Moments("var_samp", "x")})["out"].item())
