"""Rewrites before planning: the columns of a table that a query uses, and the partition keys of its group-bys."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from cauce.errors import PlanError
from cauce.plan import POSITION, Integer, Relation, Table, Text, TextList, agg, desc
from cauce.plan.nodes import Node, Receive, Scan
from cauce.plan.physical import walk

t = Table("t", "t.csv", {"a": Integer(), "b": Integer(), "c": Text(), "d": TextList()})
u = Table("u", "u.csv", {"a": Integer(), "e": Integer(), "f": Text()})


def used(relation: Relation, *shown: str, table: str = "t") -> set[str]:
    """The columns that the scans of a table use for these output columns."""
    pruned = relation.node.prune(frozenset(shown))
    scans = [node for node in walk(pruned) if isinstance(node, Scan) and node.table.name == table]
    return set().union(*(scan.used or frozenset() for scan in scans))


CASES: dict[str, tuple[Relation, tuple[str, ...], set[str]]] = {
    "only what is shown": (t, ("a",), {"a"}),
    "what a filter reads": (t.filter(pl.col("b") > 0), ("a",), {"a", "b"}),
    "what an added column reads": (t.with_columns(x=pl.col("b") + 1), ("x",), {"b"}),
    "not the inputs of an added column that is never read": (t.with_columns(x=pl.col("b") + 1), ("a",), {"a"}),
    "not a column that was replaced": (t.with_columns(a=pl.lit(1)), ("a",), set()),
    "all that a select names": (t.select("a", "b"), ("a",), {"a", "b"}),
    "all that an aggregate names": (t.group_by("a").agg(x=agg.sum("b"), y=agg.count("c")), ("a",), {"a", "b", "c"}),
    "no column for a count of rows": (t.agg(n=agg.count()), ("n",), set()),
    "the column of an explode": (t.explode("d"), ("a",), {"a", "d"}),
    "the keys of a top-k": (t.top_k(1, by=desc("b"), per="c"), ("a",), {"a", "b", "c"}),
    "the keys of a join": (t.join(u, on="a"), ("e",), {"a"}),
    "both sides of a concat": (t.select("a").concat(t.select(a="b")), ("a",), {"a", "b"}),
    "scalars apart": (t.with_scalars(u.agg(n=agg.count())), ("n", "c"), {"c"}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_scan_uses(case: str) -> None:
    relation, shown, expected = CASES[case]
    assert used(relation, *shown) == expected


def test_the_other_side_of_a_join_uses_its_keys_and_the_columns_read_later() -> None:
    assert used(t.join(u, on="a"), "b", "e", table="u") == {"a", "e"}


def test_the_other_side_of_a_semi_join_uses_its_keys_alone() -> None:
    assert used(t.join(u, on="a", how="semi"), "b", table="u") == {"a"}


def test_first_needs_the_row_position() -> None:
    pruned = t.group_by("a").agg(c=agg.first("c")).node.prune(frozenset({"c"}))
    assert all(scan.position for scan in walk(pruned) if isinstance(scan, Scan))


@pytest.mark.parametrize(
    ("relation", "what"),
    [(t.group_by("a").agg(), "a group-by"), (t.select("a").concat(u.select("a")), "a concat")],
)
def test_input_order_needs_rows_with_an_input_position(relation: Relation, what: str) -> None:
    with pytest.raises(PlanError, match=f"no input position after {what}"):
        relation.node.prune(frozenset({"a", POSITION}))


def test_a_group_by_below_a_coarser_one_is_partitioned_by_the_coarser_keys() -> None:
    fine = t.group_by("a", "c").agg(n=agg.count())
    placed = fine.group_by("c").agg(m=agg.count()).node.with_partition_hint()
    assert placed.inputs[0].partition_by == ("c",)  # type: ignore[attr-defined]


def test_a_group_by_is_not_partitioned_by_a_renamed_key() -> None:
    fine = t.group_by("a", "c").agg(n=agg.count())
    placed = fine.select("n", c="a").group_by("c").agg(m=agg.count()).node.with_partition_hint()
    assert placed.inputs[0].inputs[0].partition_by == ("a", "c")  # type: ignore[attr-defined]


def test_a_concat_below_a_group_by_is_partitioned_by_the_keys() -> None:
    both = t.select("a", "c").concat(t.select(a="b", c="c"))
    placed = both.group_by("c").agg(n=agg.count()).node.with_partition_hint()
    assert placed.inputs[0].partition_by == ("c",)  # type: ignore[attr-defined]


def test_a_concat_is_not_partitioned_by_a_column_that_is_added_later() -> None:
    both = t.select("a", "c").concat(t.select(a="b", c="c"))
    wider = both.with_scalars(u.agg(m=agg.count())).group_by("c", "m").agg(n=agg.count())
    placed = wider.node.with_partition_hint()
    assert placed.inputs[0].inputs[0].partition_by == ()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "step",
    [
        lambda node: node.prune(frozenset("a")),
        lambda node: node.with_partition_hint(),
        lambda node: node.place(None),
    ],
    ids=["prune", "with_partition_hint", "place"],
)
def test_a_step_that_only_the_planner_creates_is_rejected_in_a_query(step: Callable[[Node], Node]) -> None:
    with pytest.raises(PlanError, match="Receive is not allowed in a query"):
        step(Receive(0, ("a",)))
