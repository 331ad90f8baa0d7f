"""A new operator is one class: the planner, the evaluator and `explain` need no other change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import polars as pl
import pytest

import cauce
from cauce.errors import PlanError
from cauce.operators.late import Late
from cauce.plan.explain import explain
from cauce.plan.nodes import Evaluation, Mergeable, Node, PlacedNode, Placement, Planner
from cauce.plan.nodes.base import Narrow, SameColumns, Unary
from cauce.plan.outputs import Output


@dataclass(frozen=True, eq=False)
class Unpivot(Unary, Narrow):
    """One row for each of several columns: its name and its value. A narrow step: no row moves."""

    keys: tuple[str, ...]
    columns: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.keys, "name", "value")

    @cached_property
    def schema(self) -> Mapping[str, pl.DataType]:
        types = self.child.schema
        return {**{key: types[key] for key in self.keys}, "name": pl.String(), "value": types[self.columns[0]]}

    def check(self) -> None:
        types = {self.child.schema[column] for column in self.columns}
        if len(types) > 1:
            raise PlanError("unpivot needs columns of one type")

    def prune(self, wanted: frozenset[str]) -> Node:
        return replace(self, child=self.child.prune(frozenset((*self.keys, *self.columns))))

    def place(self, planner: Planner) -> PlacedNode:
        return self.place_with_input(planner)

    def apply(self, evaluation: Evaluation, rows: Late) -> Late:
        frame = rows.frame([*self.keys, *self.columns])
        return Late(frame.unpivot(self.columns, index=self.keys, variable_name="name"))

    def describe(self) -> str:
        return f"unpivot {', '.join(self.columns)}"


@dataclass(frozen=True, eq=False)
class LongestText(SameColumns, Mergeable):
    """The rows with the longest text of each key. A wide step: partitioned by key, and merged as rows arrive."""

    by: str
    text: str

    def prune(self, wanted: frozenset[str]) -> Node:
        return replace(self, child=self.child.prune(wanted | {self.by, self.text}))

    def place(self, planner: Planner) -> PlacedNode:
        child = planner.place(self.child)
        local = replace(self, child=child.node)
        received = planner.send(replace(child, node=local), "hash", (self.by,), local.names, local)
        placement = Placement(f"longest of each {self.by}", self.key, planner.partitions)
        return PlacedNode(replace(self, child=received), placement, (self.by,), child.level)

    def rows(self, evaluation: Evaluation) -> Late:
        return evaluation.merged(self.child, lambda rows: self.condense(rows.frame(self.child.names)), self.condense)

    def condense(self, frame: pl.DataFrame) -> pl.DataFrame:
        length = pl.col(self.text).str.len_chars()
        return frame.filter(length == length.max().over(self.by))

    def describe_merge(self) -> str:
        return ", the shorter ones dropped on arrival"

    def describe(self) -> str:
        return f"longest {self.text} of each {self.by}"


FRUIT = [("ash", "fig", 1, 2), ("ash", "plum", 3, 4), ("elm", "kiwi", 5, 6), ("elm", "pear", 7, 8)]
trees = cauce.Table(
    "trees",
    "trees_*.csv",
    {"tree": cauce.Text(), "fruit": cauce.Text(), "spring": cauce.Integer(), "autumn": cauce.Integer()},
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """One file for each row, so that rows of several parts are merged."""
    for number, row in enumerate(FRUIT):
        text = "tree,fruit,spring,autumn\n" + ",".join(map(str, row)) + "\n"
        (tmp_path / f"trees_{number}.csv").write_text(text)
    return tmp_path


def dataset_of(relation: cauce.Relation, **columns: Output) -> cauce.Dataset:
    dataset = cauce.Dataset("trees", (trees,))

    @dataset.query(**columns)
    def q1() -> cauce.Relation:
        return relation

    return dataset


def unpivoted() -> cauce.Dataset:
    relation = cauce.Relation(Unpivot(trees.node, ("fruit",), ("spring", "autumn")))
    summed = relation.group_by("name").agg(total=cauce.agg.sum("value")).sort("name")
    return dataset_of(summed, name=cauce.TEXT, total=cauce.INTEGER)


def longest() -> cauce.Dataset:
    relation = cauce.Relation(LongestText(trees.node, "tree", "fruit"))
    return dataset_of(relation.sort("fruit"), tree=cauce.TEXT, fruit=cauce.TEXT)


def test_a_new_narrow_operator_runs_in_a_job(data: Path) -> None:
    answers = cauce.run(unpivoted(), data, progress=False)
    expected = [("autumn", sum(row[3] for row in FRUIT)), ("spring", sum(row[2] for row in FRUIT))]
    assert answers["q1"].rows() == expected


def test_a_new_wide_operator_runs_in_a_job(data: Path) -> None:
    answers = cauce.run(longest(), data, progress=False)
    assert answers["q1"].rows() == [("elm", "kiwi"), ("elm", "pear"), ("ash", "plum")]


def test_a_new_operator_is_explained() -> None:
    assert "unpivot spring, autumn; partial total=sum(value) by name" in explain(unpivoted().plan())
    assert "the shorter ones dropped on arrival" in explain(longest().plan())


def test_a_new_operator_checks_its_own_types() -> None:
    relation = cauce.Relation(Unpivot(trees.node, ("tree",), ("spring", "fruit")))
    with pytest.raises(PlanError, match="unpivot needs columns of one type"):
        dataset_of(relation, name=cauce.TEXT).plan()
