"""Which columns of a table a query uses."""

from __future__ import annotations

import polars as pl
import pytest

from cauce.errors import PlanError
from cauce.plan import POSITION, Integer, Relation, Table, Text, TextList, count, desc, first, total
from cauce.plan.nodes import Scan
from cauce.plan.physical import walk
from cauce.plan.prune import place_groups, prune

t = Table("t", "t.csv", {"a": Integer(), "b": Integer(), "c": Text(), "d": TextList()})
u = Table("u", "u.csv", {"a": Integer(), "e": Integer(), "f": Text()})


def used(relation: Relation, *shown: str, table: str = "t") -> set[str]:
    """The columns that the scans of a table use when the query shows these."""
    pruned = prune(relation.node, frozenset(shown))
    scans = [node for node in walk(pruned) if isinstance(node, Scan) and node.table.name == table]
    return set().union(*(scan.used or frozenset() for scan in scans))


CASES: dict[str, tuple[Relation, tuple[str, ...], set[str]]] = {
    "only what is shown": (t, ("a",), {"a"}),
    "what a filter reads": (t.filter(pl.col("b") > 0), ("a",), {"a", "b"}),
    "what an added column reads": (t.with_columns(x=pl.col("b") + 1), ("x",), {"b"}),
    "not what an added column reads that nobody needs": (t.with_columns(x=pl.col("b") + 1), ("a",), {"a"}),
    "not a column that was replaced": (t.with_columns(a=pl.lit(1)), ("a",), set()),
    "all that a select names": (t.select("a", "b"), ("a",), {"a", "b"}),
    "all that an aggregate names": (t.group_by("a").agg(x=total("b"), y=count("c")), ("a",), {"a", "b", "c"}),
    "no column for a count of rows": (t.agg(n=count()), ("n",), set()),
    "the column of an explode": (t.explode("d"), ("a",), {"a", "d"}),
    "the keys of a top-k": (t.top_k(1, by=desc("b"), per="c"), ("a",), {"a", "b", "c"}),
    "the keys of a join": (t.join(u, on="a"), ("e",), {"a"}),
    "both sides of a concat": (t.select("a").concat(t.select(a="b")), ("a",), {"a", "b"}),
    "scalars apart": (t.with_scalars(u.agg(n=count())), ("n", "c"), {"c"}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_scan_uses(case: str) -> None:
    relation, shown, expected = CASES[case]
    assert used(relation, *shown) == expected


def test_the_other_side_of_a_join_uses_its_keys_and_what_is_wanted_of_it() -> None:
    assert used(t.join(u, on="a"), "b", "e", table="u") == {"a", "e"}


def test_the_other_side_of_a_semi_join_uses_its_keys_alone() -> None:
    assert used(t.join(u, on="a", how="semi"), "b", table="u") == {"a"}


def test_first_asks_for_the_place_of_the_rows() -> None:
    pruned = prune(t.group_by("a").agg(c=first("c")).node, frozenset({"c"}))
    assert all(scan.position for scan in walk(pruned) if isinstance(scan, Scan))


@pytest.mark.parametrize(
    ("relation", "what"),
    [(t.group_by("a").agg(), "a group-by"), (t.select("a").concat(u.select("a")), "a concat")],
)
def test_rows_that_have_no_place_in_the_input_cannot_be_put_in_its_order(relation: Relation, what: str) -> None:
    with pytest.raises(PlanError, match=f"no place in the input after {what}"):
        prune(relation.node, frozenset({"a", POSITION}))


def test_a_group_by_below_a_coarser_one_is_partitioned_by_the_coarser_keys() -> None:
    fine = t.group_by("a", "c").agg(n=count())
    placed = place_groups(fine.group_by("c").agg(m=count()).node)
    assert placed.inputs[0].partition_by == ("c",)  # type: ignore[attr-defined]


def test_a_renamed_key_is_no_reason_to_partition_by_it() -> None:
    fine = t.group_by("a", "c").agg(n=count())
    placed = place_groups(fine.select("n", c="a").group_by("c").agg(m=count()).node)
    assert placed.inputs[0].inputs[0].partition_by == ("a", "c")  # type: ignore[attr-defined]
