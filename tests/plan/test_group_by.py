"""Group-bys from files to answers, over several parts and partitions, including aggregates over distinct values."""

from __future__ import annotations

from pathlib import Path

import pytest

from cauce.plan import (
    FLOAT,
    INTEGER,
    TEXT,
    TEXT_LIST,
    Float,
    Integer,
    Table,
    Text,
    agg,
)
from tests.plan.tiny import ask, write

sales = Table("sales", "sales.csv", {"shop": Text(), "item": Text(), "sold": Integer()})
SALES = "shop,item,sold\nn,tea,1\ns,tea,5\nn,mate,2\nn,tea,\n,tea,9\nn,mate,4\ns,,6\ne,,\n"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path, sales=SALES)


@pytest.mark.parametrize("partitions", [1, 2, 5])
def test_aggregates_of_each_key(data: Path, partitions: int) -> None:
    shops = sales.group_by("shop").agg(
        rows=agg.count(),
        sold=agg.sum("sold"),
        low=agg.min("sold"),
        high=agg.max("sold"),
        item=agg.first("item"),
        m=agg.mean("sold"),
    )
    columns = {"rows": INTEGER, "sold": INTEGER, "low": INTEGER, "high": INTEGER, "item": TEXT, "m": FLOAT}
    assert ask(data, shops.sort("shop"), sales, partitions=partitions, shop=TEXT, **columns) == [
        ("e", 1, 0, None, None, None, None),
        ("n", 4, 7, 1, 4, "tea", 7 / 3),
        ("s", 2, 11, 5, 6, "tea", 5.5),
    ]


def test_count_distinct_of_each_key_leaves_nulls_out(data: Path) -> None:
    shops = sales.group_by("shop").agg(items=agg.n_unique("item")).sort("shop")
    assert ask(data, shops, sales, shop=TEXT, items=INTEGER) == [("e", 0), ("n", 2), ("s", 1)]


def test_mode_gives_all_values_on_a_tie_and_none_for_nulls_alone(data: Path) -> None:
    shops = sales.group_by("shop").agg(items=agg.mode("item"), times=agg.mode_count("item")).sort("shop")
    assert ask(data, shops, sales, shop=TEXT, items=TEXT_LIST, times=INTEGER) == [
        ("e", None, 0),
        ("n", ["mate", "tea"], 2),
        ("s", ["tea"], 1),
    ]


def test_aggregates_by_value_stand_beside_plain_ones(data: Path) -> None:
    shops = sales.group_by("shop").agg(
        times=agg.mode_count("item"), rows=agg.count(), sizes=agg.n_unique("sold"), items=agg.n_unique("item")
    )
    columns = {"times": INTEGER, "rows": INTEGER, "sizes": INTEGER, "items": INTEGER}
    assert ask(data, shops.sort("shop"), sales, shop=TEXT, **columns) == [
        ("e", 0, 1, 0, 0),
        ("n", 2, 4, 3, 2),
        ("s", 1, 2, 2, 1),
    ]


def test_aggregates_by_value_of_all_rows(data: Path) -> None:
    all_rows = sales.agg(
        rows=agg.count(), items=agg.n_unique("item"), best=agg.mode("item"), times=agg.mode_count("item")
    )
    columns = {"rows": INTEGER, "items": INTEGER, "best": TEXT_LIST, "times": INTEGER}
    assert ask(data, all_rows, sales, **columns) == [(8, 2, ["tea"], 4)]


def test_a_mode_of_all_rows_with_a_tie_is_one_row(tmp_path: Path) -> None:
    write(tmp_path, sales="shop,item,sold\na,x,1\na,y,2\n")
    assert ask(tmp_path, sales.agg(best=agg.mode("item"), rows=agg.count()), sales, best=TEXT_LIST, rows=INTEGER) == [
        (["x", "y"], 2)
    ]


def test_aggregates_by_value_of_no_rows(tmp_path: Path) -> None:
    write(tmp_path, sales="shop,item,sold\n")
    all_rows = sales.agg(items=agg.n_unique("item"), best=agg.mode("item"), times=agg.mode_count("item"))
    assert ask(tmp_path, all_rows, sales, items=INTEGER, best=TEXT_LIST, times=INTEGER) == [(0, [], 0)]


def test_a_quantile_of_each_key(data: Path) -> None:
    shops = sales.group_by("shop").agg(middle=agg.quantile("sold", 0.5)).sort("shop")
    assert ask(data, shops, sales, shop=TEXT, middle=FLOAT) == [("e", None), ("n", 2.0), ("s", 5.5)]


def test_a_count_alone_needs_no_column(data: Path) -> None:
    assert ask(data, sales.agg(rows=agg.count()), sales, rows=INTEGER) == [(8,)]


def test_distinct_rows_leave_nulls_out(data: Path) -> None:
    pairs = sales.distinct("shop", "item").sort("shop", "item")
    assert ask(data, pairs, sales, shop=TEXT, item=TEXT) == [("n", "mate"), ("n", "tea"), ("s", "tea")]


@pytest.mark.parametrize("partitions", [1, 7])
def test_zero_and_minus_zero_are_one_group_in_any_number_of_partitions(tmp_path: Path, partitions: int) -> None:
    floats = Table("floats", "floats.csv", {"x": Float()})
    write(tmp_path, floats="x\n-0.0\n0.0\n-0\n")
    groups = floats.group_by("x").agg(n=agg.count()).sort("x")
    assert repr(ask(tmp_path, groups, floats, partitions=partitions, x=FLOAT, n=INTEGER)) == "[(0.0, 3)]"


def test_a_group_by_of_a_group_by(data: Path) -> None:
    fine = sales.group_by("shop", "item").agg(n=agg.count())
    coarse = fine.group_by("shop").agg(items=agg.count(), rows=agg.sum("n")).sort("shop")
    assert ask(data, coarse, sales, shop=TEXT, items=INTEGER, rows=INTEGER) == [("n", 2, 4), ("s", 1, 1)]
