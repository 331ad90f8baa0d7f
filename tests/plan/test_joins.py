"""Joins from files to answers, in both strategies, with duplicates and nulls on both sides."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from cauce.operators.join import LookupJoin
from cauce.plan import INTEGER, TEXT, Integer, Table, Text, agg
from cauce.plan.nodes import Strategy
from tests.plan.tiny import ask, write

left = Table("left", "left.csv", {"k": Integer(), "a": Text()})
right = Table("right", "right.csv", {"k": Integer(), "b": Text()})
LEFT = "k,a\n1,p\n2,q\n,r\n1,s\n3,t\n"
RIGHT = "k,b\n1,x\n1,y\n,z\n2,w\n9,v\n"

EXPECTED: dict[LookupJoin, list[tuple[str, ...]]] = {
    "inner": [("p", "x"), ("p", "y"), ("q", "w"), ("s", "x"), ("s", "y")],
    "left": [("p", "x"), ("p", "y"), ("q", "w"), ("r", None), ("s", "x"), ("s", "y"), ("t", None)],
    "semi": [("p",), ("q",), ("s",)],
    "anti": [("r",), ("t",)],
}
STRATEGIES = pytest.mark.parametrize("strategy", ["broadcast", "partition"])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path, left=LEFT, right=RIGHT)


@STRATEGIES
@pytest.mark.parametrize("how", EXPECTED)
@pytest.mark.parametrize("partitions", [1, 4])
def test_every_join_in_every_strategy(data: Path, how: LookupJoin, strategy: Strategy, partitions: int) -> None:
    columns = {"a": TEXT} if how in ("semi", "anti") else {"a": TEXT, "b": TEXT}
    joined = left.join(right, on="k", how=how, strategy=strategy).sort(*columns)
    assert ask(data, joined, left, right, partitions=partitions, **columns) == EXPECTED[how]


@STRATEGIES
@pytest.mark.parametrize(
    ("how", "expected"), [("inner", []), ("left", [1, 1, 2, 3]), ("semi", []), ("anti", [1, 1, 2, 3])]
)
def test_a_side_without_rows(tmp_path: Path, how: LookupJoin, strategy: Strategy, expected: list[int]) -> None:
    write(tmp_path, left=LEFT, right="k,b\n")
    joined = left.filter(pl.col("k").is_not_null()).join(right, on="k", how=how, strategy=strategy).sort("k")
    assert [k for (k,) in ask(tmp_path, joined, left, right, k=INTEGER)] == expected


@STRATEGIES
def test_no_rows_to_join(tmp_path: Path, strategy: Strategy) -> None:
    write(tmp_path, left="k,a\n", right=RIGHT)
    assert ask(tmp_path, left.join(right, on="k", strategy=strategy), left, right, a=TEXT, b=TEXT) == []


@STRATEGIES
def test_a_dropped_filter_column_may_be_added_again_by_a_join(tmp_path: Path, strategy: Strategy) -> None:
    other = Table("right", "right.csv", {"k": Integer(), "a": Text()})
    write(tmp_path, left=LEFT, right="k,a\n1,new\n")
    kept = left.filter(pl.col("a") != "p").select("k")
    assert ask(tmp_path, kept.join(other, on="k", strategy=strategy), left, other, k=INTEGER, a=TEXT) == [(1, "new")]


@STRATEGIES
def test_input_order_survives_a_join(data: Path, strategy: Strategy) -> None:
    joined = left.join(right, on="k", strategy=strategy).select("a").in_input_order()
    assert ask(data, joined, left, right, a=TEXT) == [("p",), ("p",), ("q",), ("s",), ("s",)]


@STRATEGIES
def test_a_join_with_itself(data: Path, strategy: Strategy) -> None:
    counts = left.group_by("k").agg(n=agg.count())
    joined = left.join(counts, on="k", strategy=strategy).sort("a")
    assert ask(data, joined, left, a=TEXT, n=INTEGER) == [("p", 2), ("q", 1), ("s", 2), ("t", 1)]


def test_a_join_of_three_by_two_keys(tmp_path: Path) -> None:
    third = Table("third", "third.csv", {"b": Text(), "c": Text()})
    write(tmp_path, left=LEFT, right=RIGHT, third="b,c\nx,1\nw,2\nw,3\n")
    joined = left.join(right, on="k", strategy="partition").join(third, on="b", strategy="partition").sort("a", "c")
    assert ask(tmp_path, joined, left, right, third, a=TEXT, c=TEXT) == [("p", "1"), ("q", "2"), ("q", "3"), ("s", "1")]
