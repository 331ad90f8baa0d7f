"""Steps that add, compute or drop columns and keep every row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from cauce.operators.late import Late
from cauce.operators.order import POSITION
from cauce.operators.project import convert, select
from cauce.plan.nodes.base import Chosen, Exprs, Narrow, Node, Unary, Wanted
from cauce.plan.nodes.contexts import Evaluation, PlacedNode, Planner
from cauce.plan.schema import Schema, expression_types, roots


@dataclass(frozen=True, eq=False)
class _Expressions(Unary, Narrow):
    """Evaluates expressions on each row."""

    expressions: Exprs

    @property
    def reads_parts(self) -> bool:
        return self.child.reads_parts

    @property
    def is_one_row(self) -> bool:
        return self.child.is_one_row

    def place(self, planner: Planner) -> PlacedNode:
        return self.place_with_input(planner)


@dataclass(frozen=True, eq=False)
class WithColumns(_Expressions):
    """Adds columns, or replaces those of the same name."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.child.names, *_output_names(self.expressions)]))

    @cached_property
    def schema(self) -> Schema:
        return {**self.child.schema, **expression_types(self.child.schema, self.expressions)}

    @property
    def has_position(self) -> bool:
        return self.child.has_position

    def keeps(self, keys: tuple[str, ...]) -> bool:
        return not set(keys) & set(_output_names(self.expressions))

    def prune(self, wanted: Wanted) -> Node:
        kept = tuple(each for each in self.expressions if each.meta.output_name() in wanted)
        if not kept:
            return self.child.prune(wanted)
        return replace(self, child=self.child.prune((wanted - {*_output_names(kept)}) | roots(kept)), expressions=kept)

    def apply(self, evaluation: Evaluation, rows: Late) -> Late:
        return rows.with_columns(self.expressions)

    def describe(self) -> str:
        return f"add {', '.join(_output_names(self.expressions))}"


@dataclass(frozen=True, eq=False)
class Select(_Expressions):
    """Only the named columns and expressions."""

    keep_position: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(_output_names(self.expressions))

    @cached_property
    def schema(self) -> Schema:
        return expression_types(self.child.schema, self.expressions)

    @property
    def has_position(self) -> bool:
        return self.keep_position

    def keeps(self, keys: tuple[str, ...]) -> bool:
        return set(keys) <= {each.meta.output_name() for each in self.expressions if each.meta.is_column()}

    def prune(self, wanted: Wanted) -> Node:
        position = wanted & {POSITION}
        child = self.child.prune(roots(self.expressions) | position)
        return replace(self, child=child, keep_position=bool(position))

    def apply(self, evaluation: Evaluation, rows: Late) -> Late:
        return select(rows, self.expressions, self.keep_position)

    def describe(self) -> str:
        return f"select {', '.join(_output_names(self.expressions))}"


@dataclass(frozen=True, eq=False)
class Convert(Select):
    """The columns of a table under other names or as other types: each expression is cheap, cannot fail and reads one
    column. They are computed when a later step reads them, for the rows that are left then."""

    def apply(self, evaluation: Evaluation, rows: Late) -> Late:
        return convert(rows, self.expressions, self.keep_position)


@dataclass(frozen=True, eq=False)
class Pick(Chosen, Narrow):
    """Projection to the columns to send. Only the planner creates it."""

    @property
    def has_position(self) -> bool:
        return POSITION in self.columns

    def apply(self, evaluation: Evaluation, rows: Late) -> Late:
        return Late(rows.frame(self.columns))


def _output_names(expressions: Exprs) -> list[str]:
    return [each.meta.output_name() for each in expressions]
