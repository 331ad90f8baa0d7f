"""A plan in words: its stages, what each reads, computes and sends, and which queries share it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from cauce.operators.aggregate import Aggregate, Count, Quantile
from cauce.plan import nodes
from cauce.plan.physical import Edge, Plan, Stage


def explain(plan: Plan) -> str:
    """The whole plan, a stage a paragraph, in an order in which they can run.

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
        yield f"    e{number} arrives{_merged(plan.edges[number])}"
    for edge in stage.sends:
        yield f"    e{edge.number}  {_pipeline(edge.node)}"
        yield f"        ══ {_spread(edge, plan.partitions)} ══► {_readers(plan, edge)}"
    if stage.result is not None:
        yield f"    {_pipeline(stage.result.node)}; answer {', '.join(stage.result.columns)}"


def queries_of(plan: Plan, stage: Stage) -> list[str]:
    """The queries that need a stage, directly or by others."""
    if stage.result is not None:
        return [stage.result.query]
    sent = {edge.number for edge in stage.sends}
    needing = [other for other in plan.stages if sent & set(other.receives)]
    found = {query for other in needing for query in queries_of(plan, other)}
    return [query for query in plan.results if query in found]


def _merged(edge: Edge) -> str:
    match edge.merge:
        case nodes.Final():
            return ", merged as it comes"
        case nodes.TopK(k=k):
            return f", cut to the first {k} as it comes"
    return ""


def _spread(edge: Edge, partitions: int) -> str:
    match edge.spread:
        case "hash":
            return f"by hash of {', '.join(edge.keys)} to {partitions} partitions"
        case "broadcast":
            return "whole to everyone"
        case "ordered":
            return "in input order"
        case "gather":
            return "to one"


def _readers(plan: Plan, edge: Edge) -> str:
    return " and ".join(stage.name for stage in plan.stages if edge.number in stage.receives)


def _pipeline(node: nodes.Node) -> str:
    """The steps of a node along its main input."""
    steps = [step for step in reversed(list(_steps(node))) if step]
    return "; ".join(steps) if steps else "as it is"


def _steps(node: nodes.Node) -> Iterator[str]:
    yield _step(node)
    if node.inputs:
        yield from _steps(node.inputs[0])


def _step(node: nodes.Node) -> str:
    match node:
        case nodes.Filter(_, predicates):
            return f"filter {' and '.join(map(_expression, predicates))}"
        case nodes.WithColumns(_, expressions):
            return f"add {', '.join(each.meta.output_name() for each in expressions)}"
        case nodes.Select(_, expressions):
            return f"select {', '.join(each.meta.output_name() for each in expressions)}"
        case nodes.Explode(_, column):
            return f"explode {column}"
        case nodes.Join(_, right, on, how):
            return f"{how} join with {_side(right)} on {', '.join(on)}"
        case nodes.Scalars(_, right):
            return f"beside {_side(right)}"
        case nodes.Distinct(_, columns):
            return f"distinct {', '.join(columns)}"
        case nodes.Partial(_, keys, aggregates):
            return f"partial {_grouped(keys, aggregates)}"
        case nodes.Final(_, keys, aggregates):
            return f"final {_grouped(keys, aggregates)}"
        case nodes.TopK(_, k, by, per, ties):
            each = f" of each {', '.join(per)}" if per else ""
            return f"top {k}{each} by {', '.join(map(str, by))}{' with ties' if ties == 'all' else ''}"
        case nodes.Concat(_, second):
            return f"and below it ({_pipeline(second)})"
        case nodes.Sort(_, by):
            return f"sort by {', '.join(map(str, by))}" if by else "sort"
    return ""


def _side(node: nodes.Node) -> str:
    return f"e{node.edge}" if isinstance(node, nodes.Receive) else f"({_pipeline(node)})"


def _grouped(keys: Sequence[str], aggregates: dict[str, Aggregate] | object) -> str:
    assert isinstance(aggregates, dict)
    made = ", ".join(f"{name}={_aggregate(each)}" for name, each in aggregates.items())
    by = f"by {', '.join(keys)}" if keys else "of all"
    return f"{made} {by}".strip() if made else f"keys {by}"


def _aggregate(aggregate: Aggregate) -> str:
    name = type(aggregate).__name__.lower()
    match aggregate:
        case Count(column=None):
            return "count()"
        case Quantile(column, q):
            return f"quantile({column}, {q})"
    return f"{name}({aggregate.columns[0]})"


def _expression(expression: pl.Expr) -> str:
    text = " ".join(str(expression).split())
    return text if len(text) <= 90 else f"on {', '.join(dict.fromkeys(expression.meta.root_names()))}"
