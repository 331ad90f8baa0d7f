"""Stages are fused only if neither depends on the other through a third."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import pytest

from cauce.errors import PlanError
from cauce.plan.fuse import fuse_folds, in_order, merge_passes
from cauce.plan.nodes import Concat, Join, Node, Receive, Scan
from cauce.plan.physical import Edge, Result, Stage
from cauce.scan.tables import TableSpec

TABLE = TableSpec("t", ("t.csv",), {})
OTHER = TableSpec("u", ("u.csv",), {})
THIRD = TableSpec("v", ("v.csv",), {})


def receive(*edges: int) -> Node:
    arrivals: list[Node] = [Receive(edge, ("x",)) for edge in edges]
    return reduce(Concat, arrivals)


def fold(name: str, reads: list[int], sends: list[int], partitions: int = 2, *, stays: bool = True) -> Stage:
    edges = tuple(Edge(number, "hash", ("x",), receive(*reads), stays=stays) for number in sends)
    return Stage(name, None, 0, partitions, edges)


def scan(table: TableSpec, reads: list[int], sends: list[int], level: int = 0) -> Stage:
    node: Node = Scan(table)
    for edge in reads:
        node = Join(node, Receive(edge, ("x",)), ("x",), "semi", "broadcast")
    edges = tuple(Edge(number, "hash", ("x",), node) for number in sends)
    return Stage(f"scan {table.name}", table, level, 0, edges)


def answer(*reads: int, partitions: int = 1) -> Stage:
    return Stage("answer", None, 0, partitions, (), Result("q", receive(*reads), {}, False))


def names(stages: list[Stage]) -> list[str]:
    return [stage.name for stage in stages]


def test_a_fold_whose_rows_keep_their_partition_is_fused_with_its_reader() -> None:
    fused = fuse_folds([fold("a", [99], [1]), fold("b", [1], [2], stays=False), answer(2)])
    assert names(fused) == ["b", "answer"]
    assert fused[0].receives == (99,)


def test_rows_that_move_are_not_fused() -> None:
    stages = [fold("a", [99], [1], stays=False), fold("b", [1], [2]), answer(2)]
    assert names(fuse_folds(stages))[:2] == ["a", "b"]


def test_stages_of_different_partitions_are_not_fused() -> None:
    stages = [fold("a", [99], [1], partitions=3), fold("b", [1], [2], stays=False), answer(2)]
    assert names(fuse_folds(stages)) == ["a", "b", "answer"]


def test_an_edge_with_two_readers_is_not_fused() -> None:
    stages = [
        fold("a", [99], [1]),
        fold("b", [1], [2], stays=False),
        fold("c", [1], [3], stays=False),
        answer(2, 3),
    ]
    assert names(fuse_folds(stages)) == ["a", "b", "c", "answer"]


def test_two_edges_between_the_same_stages_are_fused_together() -> None:
    stages = [fold("a", [99], [1, 2]), fold("b", [1, 2], [3], stays=False), answer(3)]
    fused = fuse_folds(stages)
    assert names(fused) == ["b", "answer"]
    assert fused[0].receives == (99,)


def test_two_edges_between_the_same_stages_stay_if_one_cannot_be_fused() -> None:
    a = fold("a", [99], [1, 2])
    a = replace(a, sends=(a.sends[0], replace(a.sends[1], stays=False)))
    assert names(fuse_folds([a, fold("b", [1, 2], [3], stays=False), answer(3)])) == ["a", "b", "answer"]


def test_stages_with_a_third_between_them_are_not_fused() -> None:
    a = fold("a", [99], [1, 2])
    a = replace(a, sends=(a.sends[0], replace(a.sends[1], stays=False)))
    third = fold("third", [2], [3], stays=False)
    assert names(fuse_folds([a, third, fold("b", [1, 3], [4], stays=False), answer(4)])) == [
        "a",
        "third",
        "b",
        "answer",
    ]


def test_a_stage_read_by_an_answer_and_another_stage_is_not_fused() -> None:
    a = fold("a", [99], [1, 2], partitions=1)
    other = fold("other", [2], [3], partitions=4, stays=False)
    assert names(fuse_folds([a, other, answer(1), answer(3)])) == ["a", "other", "answer", "answer"]


def test_a_stage_read_only_by_an_answer_is_fused_with_it() -> None:
    fused = fuse_folds([fold("a", [99], [1], partitions=1), answer(1)])
    assert names(fused) == ["answer"]
    assert fused[0].receives == (99,)


def test_independent_passes_over_a_table_are_merged() -> None:
    merged = merge_passes([scan(TABLE, [], [1]), scan(TABLE, [], [2], level=1), answer(1, 2)])
    assert names(merged) == ["scan t", "answer"]
    assert {edge.number for edge in merged[0].sends} == {1, 2}


def test_dependent_passes_are_not_merged() -> None:
    stages = [scan(TABLE, [], [1]), fold("sum", [1], [2]), scan(TABLE, [2], [3], level=1), answer(3)]
    assert names(merge_passes(stages)).count("scan t") == 2


def test_merging_the_passes_of_one_table_may_prevent_merging_those_of_another() -> None:
    stages = [
        scan(TABLE, [], [1]),
        scan(OTHER, [], [2]),
        scan(TABLE, [2], [3], level=1),
        scan(OTHER, [1], [4], level=1),
        answer(3, 4),
    ]
    merged = names(merge_passes(stages))
    assert sorted([merged.count("scan t"), merged.count("scan u")]) == [1, 2]


def test_a_pass_that_feeds_a_table_stays_apart_from_one_that_needs_the_table() -> None:
    stages = [
        scan(TABLE, [], [1]),
        scan(OTHER, [1], [2], level=1),
        scan(OTHER, [], [3]),
        fold("keys", [3], [4]),
        scan(TABLE, [4], [5], level=1),
        answer(2, 5),
    ]
    merged = names(merge_passes(stages))
    assert merged.count("scan u") == 1
    assert merged.count("scan t") == 2


def test_the_outputs_of_one_pass_are_placed_independently() -> None:
    """The pass over `t` at level 1 has an output for `u` and one that needs `u`."""
    early, late = scan(TABLE, [9], [1], level=1), scan(TABLE, [4], [5], level=1)
    stages = [
        scan(THIRD, [], [9]),
        replace(early, sends=early.sends + late.sends),
        scan(OTHER, [1], [2], level=2),
        scan(OTHER, [], [3]),
        fold("keys", [3], [4]),
        answer(2, 5),
    ]
    merged = names(merge_passes(stages))
    assert merged.count("scan u") == 1
    assert merged.count("scan t") == 2


def test_stages_are_ordered_after_those_they_read_from() -> None:
    stages = [answer(3), fold("late", [2], [3]), fold("early", [1], [2]), scan(TABLE, [], [1])]
    assert names(in_order(stages)) == ["scan t", "early", "late", "answer"]


def test_a_cycle_of_stages_is_rejected() -> None:
    with pytest.raises(PlanError, match="cycle"):
        in_order([fold("a", [2], [1]), fold("b", [1], [2])])
