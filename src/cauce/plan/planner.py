"""Turns the queries of a job into one DAG of stages.

    reviews ─filter─join(broadcast books)─partial count ══hash title══► merge, final ══gather══► sort, answer

A table is read once for all queries wherever their dependencies allow it; equal sub-plans are computed once;
narrow steps, broadcast joins and partial aggregates run in the stage that already has the rows. The planner does
no I/O and knows no fabric.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from cauce import __version__
from cauce.errors import PlanError, did_you_mean
from cauce.operators.order import POSITION
from cauce.operators.partition import HASH_VERSION
from cauce.plan import nodes
from cauce.plan.fuse import fuse_folds, in_order, merge_passes
from cauce.plan.nodes import PlacedNode, Placement, Spread
from cauce.plan.nodes.base import columns_with_position
from cauce.plan.outputs import Output
from cauce.plan.physical import Edge, Plan, Result, Stage, walk
from cauce.plan.relation import Relation
from cauce.scan.integers.packing import PACKING_VERSION


@dataclass(frozen=True)
class PlannedQuery:
    name: str
    relation: Relation
    columns: Mapping[str, Output]
    prefix: str = ""
    """The prefix of this query's error messages."""


def make_plan(dataset: str, queries: list[PlannedQuery], partitions: int, salt: str = "") -> Plan:
    """Plans all queries as one DAG. `salt` (the dataset's version and parameters) goes into the digest."""
    lowering = _Lowering(partitions)
    for query in queries:
        try:
            lowering.add_query(query)
        except PlanError as problem:
            raise PlanError(f"{query.prefix}{problem}") from None
    stages = in_order(fuse_folds(merge_passes(lowering.stages())))
    plan = Plan(dataset, "", tuple(_with_rejects(stages)), partitions)
    return replace(plan, digest=_digest(plan, salt))


class _Lowering:
    """Assigns every node to a stage (`Placement`) and adds an edge wherever rows must move."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._placed: dict[str, PlacedNode] = {}
        self._edges: dict[tuple[str, str, tuple[str, ...]], Edge] = {}
        self._placement_of_edge: dict[int, Placement] = {}
        self._results: list[Result] = []

    def add_query(self, query: PlannedQuery) -> None:
        node = query.relation.node
        by = node.by if isinstance(node, nodes.Sort) else ()
        body = node.child if isinstance(node, nodes.Sort) else node
        in_input_order = len(by) == 1 and by[0].what == POSITION and body.reads_parts
        reads = frozenset(query.columns).union(*(key.columns for key in by if not in_input_order))
        unknown = sorted(reads - set(body.names) - {POSITION})
        if unknown:
            there = ", ".join(sorted(body.names))
            hint = did_you_mean(unknown[0], body.names)
            missing = ", ".join(unknown)
            raise PlanError(f"{query.name} has no column {missing} to show or to sort by; there are {there}{hint}")
        placed = self.place(body.prune(reads).with_partition_hint())
        received = self.send(placed, "ordered" if in_input_order else "gather", columns=tuple(sorted(reads)))
        final = received if in_input_order else nodes.Sort(received, by)
        self._results.append(Result(query.name, final, dict(query.columns), in_input_order))

    def stages(self) -> list[Stage]:
        by_placement: dict[Placement, list[Edge]] = {}
        for edge in self._edges.values():
            by_placement.setdefault(self._placement_of_edge[edge.number], []).append(edge)
        stages = [
            Stage(each.name, each.table, each.level, each.partitions, tuple(edges))
            for each, edges in by_placement.items()
        ]
        return stages + [Stage(f"answer {result.query}", None, 0, 1, (), result) for result in self._results]

    # Called by nodes while they are placed.

    @property
    def partitions(self) -> int:
        return self._partitions

    def place(self, node: nodes.Node) -> PlacedNode:
        if node.key not in self._placed:
            self._placed[node.key] = node.place(self)
        return self._placed[node.key]

    def is_local(self, child: PlacedNode, keys: tuple[str, ...]) -> bool:
        if child.placement.table is not None:
            return False
        return child.placement.partitions == 1 or (bool(child.keys) and set(child.keys) <= set(keys))

    def move(self, placed: PlacedNode) -> PlacedNode:
        spread: Spread = "hash" if placed.keys else "gather"
        placement = Placement("hold", placed.node.key, self._partitions if placed.keys else 1)
        return replace(placed, node=self.send(placed, spread, placed.keys), placement=placement)

    def send(
        self,
        placed: PlacedNode,
        spread: Spread,
        keys: tuple[str, ...] = (),
        columns: tuple[str, ...] | None = None,
        merge: nodes.Mergeable | None = None,
    ) -> nodes.Receive:
        sent = columns_with_position(placed.node) if columns is None else columns
        node = placed.node if sent == placed.node.names else nodes.Pick(placed.node, sent)
        identity = (node.key, spread, keys)
        if identity not in self._edges:
            stays = placed.placement.table is None and (
                placed.placement.partitions == 1 if spread == "gather" else spread == "hash" and placed.keys == keys
            )
            edge = Edge(len(self._edges), spread, keys, node, merge, stays)
            self._edges[identity] = edge
            self._placement_of_edge[edge.number] = placed.placement
        return nodes.Receive(self._edges[identity].number, sent)

    def depends(self, later: Placement, earlier: Placement) -> bool:
        if later == earlier:
            return True
        sent = [edge for edge in self._edges.values() if self._placement_of_edge[edge.number] == later]
        placed = [each.node for each in self._placed.values() if each.placement == later]
        reads = {
            node.edge
            for root in [edge.node for edge in sent] + placed
            for node in walk(root)
            if isinstance(node, nodes.Receive)
        }
        return any(self.depends(self._placement_of_edge[number], earlier) for number in reads)


def _with_rejects(stages: list[Stage]) -> list[Stage]:
    """The first pass over a table reports the unreadable cells of all columns that any pass uses."""
    reported: set[str] = set()
    made: list[Stage] = []
    for stage in stages:
        if stage.table is not None and stage.table.name not in reported:
            name = stage.table.name
            reported.add(name)
            every = [each for each in stages if each.table is not None and each.table.name == name]
            used = frozenset[str]().union(*(each.read_columns for each in every))
            stage = replace(stage, report_rejects=used)
        made.append(stage)
    return made


def _digest(plan: Plan, salt: str) -> str:
    # Another version of Polars may compute other frame digests, so its workers must not share a job.
    lines = [__version__, pl.__version__, f"{HASH_VERSION} {PACKING_VERSION}", salt, str(plan.partitions)]
    for table in plan.tables:
        lines.append(table.reading)
    for stage in plan.stages:
        lines.append(f"{stage.name} {stage.level} {stage.partitions}")
        lines += [f"{edge.number} {edge.spread} {edge.keys} {edge.node.digest}" for edge in stage.sends]
        if stage.result:
            lines.append(f"{stage.result.query} {stage.result.node.digest} {stage.result.columns}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
