"""Prints a plan: the input, steps and output edges of each stage, and the queries that share it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from cauce.plan.physical import Edge, Plan, Stage


def explain(plan: Plan) -> str:
    """The whole plan, one paragraph per stage, in execution order.

    scan reviews                                      reads title, score                       for q3, q4
        e7   semi-join with all of e5 on title; partial reviews=count() by title
             ══ by hash of title to 2 partitions ══► group by title
    """
    queries = ", ".join(plan.results)
    lines = [
        f"{plan.dataset}: {queries}",
        f"{len(plan.stages)} stages, {len(plan.edges)} edges, {plan.partitions} partitions, plan {plan.digest[:12]}",
        "",
    ]
    for stage in plan.stages:
        lines += [*_stage_lines(plan, stage), ""]
    return "\n".join(lines).rstrip() + "\n"


def _stage_lines(plan: Plan, stage: Stage) -> Iterator[str]:
    served = queries_of(plan, stage)
    shared = f"shared by {', '.join(served)}" if len(served) > 1 else f"for {', '.join(served)}"
    if stage.table is not None:
        files = " or ".join(stage.table.files)
        yield f"{stage.name}  ({files}, one task for each part)  {shared}"
        yield f"    reads {', '.join(sorted(stage.read_columns))}"
    else:
        times = f"{stage.partitions} partitions" if stage.partitions > 1 else "1 partition"
        yield f"{stage.name}  ({times})  {shared}"
    for number in stage.receives:
        yield f"    e{number} arrives{_merging(plan.edges[number])}"
    for edge in stage.sends:
        yield f"    e{edge.number}  {edge.node.pipeline}"
        yield f"        ══ {_spread(edge, plan.partitions)} ══► {_readers(plan, edge)}"
    if stage.result is not None:
        yield f"    {stage.result.node.pipeline}; answer {', '.join(stage.result.columns)}"


def queries_of(plan: Plan, stage: Stage) -> list[str]:
    """The queries that depend on a stage, directly or indirectly."""
    if stage.result is not None:
        return [stage.result.query]
    sent = {edge.number for edge in stage.sends}
    needing = [other for other in plan.stages if sent & set(other.receives)]
    found = {query for other in needing for query in queries_of(plan, other)}
    return [query for query in plan.results if query in found]


def steps_of(stage: Stage) -> list[str]:
    """The computation of each output of a stage."""
    return list(dict.fromkeys(root.pipeline for root in stage.roots))


def _merging(edge: Edge) -> str:
    return "" if edge.merge is None else edge.merge.describe_merge()


def _spread(edge: Edge, partitions: int) -> str:
    match edge.spread:
        case "hash":
            return f"by hash of {', '.join(edge.keys)} to {partitions} partitions"
        case "broadcast":
            return "broadcast to all tasks"
        case "ordered":
            return "in input order"
        case "gather":
            return "to one"
        case unknown:
            assert_never(unknown)


def _readers(plan: Plan, edge: Edge) -> str:
    return " and ".join(stage.name for stage in plan.stages if edge.number in stage.receives)
