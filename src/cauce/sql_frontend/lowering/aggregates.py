"""Lowers GROUP BY: arguments become columns, aggregates of SQL become aggregates of the plan language."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from cauce.operators.aggregates import Aggregate as PlanAggregate
from cauce.operators.order import SortKey
from cauce.plan import agg
from cauce.plan.relation import Relation
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.tree import Aggregate, AggregateCall, Expr

Translate = Callable[[Expr], pl.Expr]


def lower_aggregate(step: Aggregate, child: Relation, translate: Translate) -> Relation:
    if step.sets is None:
        return _grouped(step, tuple(range(len(step.keys))), child, translate)
    parts = [_set(step, number, child, translate) for number in range(len(step.sets))]
    made = parts[0]
    for each in parts[1:]:
        made = made.concat(each)
    return made


def _set(step: Aggregate, number: int, child: Relation, translate: Translate) -> Relation:
    """The groups of one grouping set; the keys that it leaves out are NULL."""
    assert step.sets is not None
    chosen = step.sets[number]
    groups = _grouped(step, chosen, child, translate)
    missing = {name: pl.lit(None, dtype=expr.type.dtype) for i, (name, expr) in enumerate(step.keys) if i not in chosen}
    numbered = groups.with_columns(**missing, **{step.grouping_id: pl.lit(number, dtype=pl.Int64)})
    return numbered.select(*step.columns)


def _grouped(step: Aggregate, chosen: tuple[int, ...], child: Relation, translate: Translate) -> Relation:
    keys = {name: translate(expr) for i, (name, expr) in enumerate(step.keys) if i in chosen}
    inputs: dict[str, pl.Expr] = {}
    calls: dict[str, PlanAggregate] = {}
    finish: dict[str, pl.Expr] = {}
    for name, call in step.aggregates:
        _add(name, call, translate, inputs, calls, finish)
    rows = child.select(**keys, **(inputs or ({} if keys else {"one:": pl.lit(1, dtype=pl.Int8)})))
    if not calls and not keys:
        calls["rows:"] = agg.count()
    groups = rows.group_by(*keys, nulls=True).agg(**calls) if keys else rows.agg(**calls)
    made = [pl.col(name) for name in keys]
    made += [finish[name].alias(name) for name, _ in step.aggregates]
    return groups.select(*made) if made else groups


def _add(
    name: str,
    call: AggregateCall,
    translate: Translate,
    inputs: dict[str, pl.Expr],
    calls: dict[str, PlanAggregate],
    finish: dict[str, pl.Expr],
) -> None:
    """Adds the input columns, the plan's aggregate and the final expression of one aggregate."""
    columns = []
    for number, each in enumerate((*call.arguments, *(item.expr for item in call.order))):
        columns.append(f"{name}:{number}")
        inputs[columns[-1]] = translate(each)
    where = None if call.condition is None else _condition(name, call, translate, inputs)
    keys = [
        SortKey(column, item.descending, item.nulls_first)
        for column, item in zip(columns[len(call.arguments) :], call.order, strict=True)
    ]
    given = _Given(call, columns, where, keys)
    calls[name] = _AGGREGATES[call.name](given) if call.name in _AGGREGATES else _unsupported(call)
    value = pl.col(name)
    if call.name == "mode":
        value = value.list.first()
    finish[name] = value.cast(call.type.dtype)


def _condition(name: str, call: AggregateCall, translate: Translate, inputs: dict[str, pl.Expr]) -> pl.Expr:
    assert call.condition is not None
    inputs[f"{name}:where"] = translate(call.condition)
    return pl.col(f"{name}:where")


def _unsupported(call: AggregateCall) -> PlanAggregate:
    raise StatementError(f"the aggregate {call.name} is not supported", call.at)


@dataclass(frozen=True)
class _Given:
    """The call, its input columns, its FILTER and its ORDER BY."""

    call: AggregateCall
    columns: list[str]
    where: pl.Expr | None
    order: list[SortKey]

    @property
    def value(self) -> str:
        return self.columns[0]

    @property
    def distinct(self) -> bool:
        return self.call.distinct

    def all_keys(self) -> list[SortKey]:
        """An order in which ties are equal values: input order is not known after joins."""
        return [*self.order, SortKey(self.value)]


def _count(given: _Given) -> PlanAggregate:
    if given.distinct:
        return agg.n_unique(given.value, where=given.where)
    return agg.count(given.value if given.call.arguments else None, where=given.where)


def _count_if(given: _Given) -> PlanAggregate:
    """NULL if the condition is NULL for all rows, as a sum."""
    return agg.sum(given.value, min_count=1, where=given.where, distinct=given.distinct)


_AGGREGATES: dict[str, Callable[[_Given], PlanAggregate]] = {
    "count": _count,
    "sum": lambda g: agg.sum(g.value, min_count=1, where=g.where, distinct=g.distinct),
    "avg": lambda g: agg.mean(g.value, where=g.where, distinct=g.distinct),
    "min": lambda g: agg.min(g.value, where=g.where),
    "max": lambda g: agg.max(g.value, where=g.where),
    "any_value": lambda g: agg.any_value(g.value, where=g.where),
    "median": lambda g: agg.median(g.value, where=g.where, distinct=g.distinct),
    "quantile_cont": lambda g: agg.quantile(g.value, g.call.parameters[0], where=g.where, distinct=g.distinct),
    "quantile_disc": lambda g: agg.quantile_disc(g.value, g.call.parameters[0], where=g.where, distinct=g.distinct),
    "mode": lambda g: agg.mode(g.value, where=g.where),
    "stddev_samp": lambda g: agg.std(g.value, ddof=1, where=g.where, distinct=g.distinct),
    "stddev_pop": lambda g: agg.std(g.value, ddof=0, where=g.where, distinct=g.distinct),
    "var_samp": lambda g: agg.var(g.value, ddof=1, where=g.where, distinct=g.distinct),
    "var_pop": lambda g: agg.var(g.value, ddof=0, where=g.where, distinct=g.distinct),
    "covar_samp": lambda g: agg.cov(g.columns[0], g.columns[1], ddof=1, where=g.where),
    "covar_pop": lambda g: agg.cov(g.columns[0], g.columns[1], ddof=0, where=g.where),
    "corr": lambda g: agg.corr(g.columns[0], g.columns[1], where=g.where),
    "first": lambda g: agg.first(g.value, order_by=g.all_keys(), where=g.where),
    "last": lambda g: agg.last(g.value, order_by=g.all_keys(), where=g.where),
    "arg_min": lambda g: agg.arg_min(g.columns[0], g.columns[1], where=g.where),
    "arg_max": lambda g: agg.arg_max(g.columns[0], g.columns[1], where=g.where),
    "bool_and": lambda g: agg.all(g.value, where=g.where),
    "bool_or": lambda g: agg.any(g.value, where=g.where),
    "count_if": _count_if,
    "approx_count_distinct": lambda g: agg.n_unique(g.value, where=g.where),
    "list": lambda g: agg.list(g.value, order_by=g.all_keys(), distinct=g.distinct, where=g.where),
    "string_agg": lambda g: agg.string_agg(
        g.value, (*g.call.parameters, ",")[0], order_by=g.all_keys(), distinct=g.distinct, where=g.where
    ),
}
