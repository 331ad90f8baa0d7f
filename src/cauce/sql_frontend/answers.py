"""Statements to answers: binds, plans and lowers each statement, and declares the columns of its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl
from sqlglot import exp

from cauce.errors import PlanError
from cauce.plan.outputs import (
    BOOLEAN,
    DATE,
    FLOAT,
    INTEGER,
    TEXT,
    TEXT_LIST,
    TIMESTAMP,
    TIMESTAMPTZ,
    WIDE_INTEGER,
    Output,
    decimal,
)
from cauce.plan.relation import Relation
from cauce.sql_frontend.binding.bound import BoundQuery
from cauce.sql_frontend.binding.expressions import ExpressionBinder
from cauce.sql_frontend.binding.queries import QueryBinder
from cauce.sql_frontend.binding.scope import Names, Scope, Visible
from cauce.sql_frontend.catalogue import Catalogue
from cauce.sql_frontend.lowering.rows import Lowering, select
from cauce.sql_frontend.lowering.sorting import sort_keys
from cauce.sql_frontend.parse import Script, Statement, parse
from cauce.sql_frontend.planning.joins import JoinPlanner
from cauce.sql_frontend.planning.prune import pruned
from cauce.sql_frontend.planning.subqueries import Decorrelator
from cauce.sql_frontend.planning.text_sides import TextSides
from cauce.sql_frontend.problems import SqlError, StatementError, line_and_column
from cauce.sql_frontend.tree import Constant, columns_of
from cauce.sql_frontend.types import VARCHAR, SqlType


@dataclass(frozen=True)
class Answer:
    """A statement as a relation: its answer columns by name."""

    name: str
    relation: Relation
    outputs: dict[str, Output]
    types: dict[str, SqlType]


def answers_of(text: str, catalogue: Catalogue, parameters: Mapping[str, str] | None = None) -> list[Answer]:
    """All statements of a text. Raises SqlError for the first one that is not valid or not supported."""
    script = parse(text)
    values = _parameters(script, parameters or {})
    return [_answer(script, statement, catalogue, values) for statement in script.statements]


def _answer(script: Script, statement: Statement, catalogue: Catalogue, parameters: Mapping[str, Constant]) -> Answer:
    try:
        return _lowered(script, statement, catalogue, parameters)
    except StatementError as problem:
        offset = problem.at if problem.at >= statement.start else statement.start
        raise SqlError(problem.message, script.text, offset) from None
    except PlanError as problem:
        raise SqlError(f"the statement is not supported: {problem}", script.text, statement.start) from None
    except RecursionError:
        raise SqlError("the statement is nested too deeply; split it with WITH", script.text, statement.start) from None


def _lowered(script: Script, statement: Statement, catalogue: Catalogue, parameters: Mapping[str, Constant]) -> Answer:
    names = Names()
    bound = QueryBinder(catalogue, parameters, names).bind(statement.tree, None)
    planner = JoinPlanner(catalogue)
    step = planner.step(Decorrelator(names).step(bound.step))
    outputs = tuple(each.unique for each in bound.outputs)
    step = pruned(step, {*outputs, *(name for item in bound.order for name in columns_of(item.expr))})
    step = TextSides(planner.semi_joins).step(step)

    def where(at: int) -> str:
        line, column = line_and_column(script.text, at)
        return f"{statement.name}, line {line}, column {column}"

    relation = Lowering(catalogue, where, planner.sizes).relation(step)
    types = {each.name: each.type for each in bound.outputs}
    return Answer(statement.name, _shown(relation, bound), {each.name: _output(each) for each in bound.outputs}, types)


def _shown(relation: Relation, bound: BoundQuery) -> Relation:
    """The answer's columns under their names, in order. Rows that tie are ordered by all columns."""
    keys = sort_keys(bound.order, [each.unique for each in bound.outputs if _sortable(each.type)])
    items = {each.name: pl.col(each.unique) for each in bound.outputs}
    names = {each.unique: each.name for each in reversed(bound.outputs)}
    hidden = [name for key in keys for name in key.columns if name not in names]
    renamed = {name: f"order:{number}" for number, name in enumerate(dict.fromkeys(hidden))}
    items |= {renamed[name]: pl.col(name) for name in renamed}
    final = {**names, **renamed}
    by = [replace(key, what=final[key.columns[0]]) for key in keys]
    made = select(relation, items)
    return made.sort(*by) if by else made


def _sortable(kind: SqlType) -> bool:
    return kind.element is None


def _output(column: Visible) -> Output:
    kind = column.type
    found = _OUTPUTS.get(kind.name)
    if found is not None:
        return found
    if kind.name == "DECIMAL":
        return decimal(kind.scale)
    if kind.element is not None and kind.element.name == "VARCHAR":
        return TEXT_LIST
    raise StatementError(f"column {column.name}: {kind} is not supported in an answer; cast it to VARCHAR", column.at)


_OUTPUTS = {
    "BOOLEAN": BOOLEAN,
    "TINYINT": INTEGER,
    "SMALLINT": INTEGER,
    "INTEGER": INTEGER,
    "BIGINT": INTEGER,
    "HUGEINT": WIDE_INTEGER,
    "FLOAT": FLOAT,
    "DOUBLE": FLOAT,
    "VARCHAR": TEXT,
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMPTZ": TIMESTAMPTZ,
}


def _parameters(script: Script, given: Mapping[str, str]) -> dict[str, Constant]:
    """The values of parameters: texts of SQL literals, or any other text as a VARCHAR."""
    values = {**script.defaults, **given}
    return {name: _parameter(value) for name, value in values.items()}


def _is_literal(node: exp.Expr) -> bool:
    """A number, a text in quotes, true, NULL, DATE '...' and the like: 2024-01-01 is a text, not a difference."""
    inner = node.this if isinstance(node, exp.Neg | exp.Cast | exp.Interval) else node
    return isinstance(inner, exp.Literal | exp.Boolean | exp.Null)


def _parameter(text: str) -> Constant:
    try:
        node = parse(f"SELECT {text}").statements[0].tree.expressions[0]
        binder = ExpressionBinder(Scope(), QueryBinder(Catalogue()), "a parameter")
        bound = binder.bind(node) if _is_literal(node) else None
    except (SqlError, StatementError):
        bound = None
    if isinstance(bound, Constant):
        return bound
    return Constant(VARCHAR, text, True)
