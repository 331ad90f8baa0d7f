"""Binds GROUP BY: keys by expression, position, alias or ALL, grouping sets, and the rewriting of what comes after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

from sqlglot import exp

from cauce.sql_frontend.binding.expressions import ExpressionBinder
from cauce.sql_frontend.binding.positions import at, only, position_of
from cauce.sql_frontend.functions import operators as ops
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.tree import (
    Aggregate,
    AggregateCall,
    Case,
    Column,
    Constant,
    Expr,
    Step,
    SubqueryExpr,
    WindowCall,
    outer_of_step,
    transform,
    walk,
)
from cauce.sql_frontend.types import BIGINT, INTEGER, NULL

if TYPE_CHECKING:
    from cauce.sql_frontend.binding.queries import QueryBinder

Sets = list[tuple[int, ...]]


@dataclass(frozen=True)
class Grouping:
    """Rewrites an expression of the select list to one over the groups."""

    change: Callable[[Expr], Expr | None] | None

    @staticmethod
    def none() -> Grouping:
        return Grouping(None)

    def __call__(self, expr: Expr) -> Expr:
        return expr if self.change is None else transform(expr, self.change)


@dataclass
class GroupBinder:
    queries: QueryBinder
    binder: ExpressionBinder
    items: Sequence[tuple[str, Expr, exp.Expr]]
    """The select list: name, expression, node."""
    _keys: list[Expr] = field(default_factory=list)

    def bind(self, step: Step, clause: exp.Group | None, exprs: Sequence[Expr]) -> tuple[Step, Grouping]:
        sets = self._sets(clause)
        keys = [(self._key_name(each), each) for each in self._keys]
        calls: dict[AggregateCall, str] = {}
        for expr in exprs:
            for call in _aggregates(expr):
                if call.name != "grouping" and call not in calls:
                    calls[call] = self.queries.names.fresh(call.name)
        several = sets is not None
        number = self.queries.names.fresh("grouping_id") if several else ""
        made = Aggregate(
            step,
            tuple(keys),
            tuple((name, call) for call, name in calls.items()),
            tuple(sets) if sets is not None else None,
            number,
        )
        return made, Grouping(lambda expr: self._over_groups(expr, keys, calls, sets, number))

    def _key_name(self, key: Expr) -> str:
        return key.name if isinstance(key, Column) else self.queries.names.fresh("key")

    def _over_groups(
        self,
        expr: Expr,
        keys: Sequence[tuple[str, Expr]],
        calls: dict[AggregateCall, str],
        sets: Sets | None,
        number: str,
    ) -> Expr | None:
        for name, key in keys:
            if expr == key:
                return Column(key.type, name, at=expr.at)
        if isinstance(expr, AggregateCall):
            if expr.name == "grouping":
                return self._grouping(expr, keys, sets, number)
            return Column(expr.type, calls[expr], at=expr.at)
        if isinstance(expr, SubqueryExpr):
            known = {name for name, _ in keys}
            for outer in outer_of_step(expr.query):
                if outer.depth == 1 and outer.name not in known:
                    raise StatementError(f"column {outer.name} in the subquery must be in GROUP BY", outer.at)
        if isinstance(expr, Column):
            raise StatementError(
                f"column {expr.name.partition('~')[0]} must be in GROUP BY or in an aggregate, such as "
                f"any_value({expr.name.partition('~')[0]})",
                expr.at,
            )
        return None

    def _grouping(self, call: AggregateCall, keys: Sequence[tuple[str, Expr]], sets: Sets | None, number: str) -> Expr:
        """GROUPING(a, b): a bit for each key that its set leaves out."""
        positions: list[int] = []
        for each in call.arguments:
            found = next((i for i, (_, key) in enumerate(keys) if key == each), None)
            if found is None:
                raise StatementError("GROUPING takes keys of GROUP BY", each.at)
            positions.append(found)
        if sets is None:
            return Constant(BIGINT, 0, at=call.at)
        branches = []
        for index, chosen in enumerate(sets):
            bits = sum(1 << (len(positions) - 1 - i) for i, key in enumerate(positions) if key not in chosen)
            tested = ops.compare("=", Column(BIGINT, number), Constant(BIGINT, index), call.at)
            branches.append((tested, Constant(BIGINT, bits)))
        return Case(BIGINT, tuple(branches), Constant(BIGINT, None), at=call.at)

    # Keys.

    def _sets(self, clause: exp.Group | None) -> Sets | None:
        if clause is None:
            return None
        only(clause, "GROUP BY", "expressions", "all", "grouping_sets", "rollup", "cube")
        if clause.args.get("all"):
            self._all_keys()
            return None
        parts: list[Sets] = []
        special = False
        nodes = [*clause.expressions, *(clause.args.get("grouping_sets") or [])]
        nodes += [*(clause.args.get("rollup") or []), *(clause.args.get("cube") or [])]
        for node in nodes:
            special = special or isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets)
            parts.append(self._part(node))
        if not special:
            return None
        crossed = [tuple(dict.fromkeys(key for part in chosen for key in part)) for chosen in product(*parts)]
        if len(crossed) > 64:
            raise StatementError(f"{len(crossed)} grouping sets are too many; at most 64 are allowed", at(clause))
        return crossed

    def _part(self, node: exp.Expr) -> Sets:
        match node:
            case exp.Rollup():
                keys = [self._composite(each) for each in node.expressions]
                return [tuple(k for part in keys[:n] for k in part) for n in range(len(keys), -1, -1)]
            case exp.Cube():
                keys = [self._composite(each) for each in node.expressions]
                return [
                    tuple(k for i, part in enumerate(keys) if mask >> (len(keys) - 1 - i) & 1 for k in part)
                    for mask in range(2 ** len(keys) - 1, -1, -1)
                ]
            case exp.GroupingSets():
                return [each for inner in node.expressions for each in self._grouping_set(inner)]
        return [self._composite(node)]

    def _grouping_set(self, node: exp.Expr) -> Sets:
        if isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets):
            return self._part(node)
        return [self._composite(node)]

    def _composite(self, node: exp.Expr) -> tuple[int, ...]:
        if isinstance(node, exp.Tuple):
            return tuple(self._key(each) for each in node.expressions)
        return (self._key(node.this if isinstance(node, exp.Paren) else node),)

    def _key(self, node: exp.Expr) -> int:
        position = position_of(node, len(self.items), "GROUP BY")
        expr = self.items[position][1] if position is not None else self.binder.bind(node)
        if expr.type == NULL:
            expr = Constant(INTEGER, None, at=expr.at)
        if any(isinstance(each, AggregateCall | WindowCall) for each in walk(expr)):
            raise StatementError("GROUP BY takes no aggregates and no window functions", at(node))
        if expr not in self._keys:
            self._keys.append(expr)
        return self._keys.index(expr)

    def _all_keys(self) -> None:
        for _, expr, _node in self.items:
            if not any(isinstance(each, AggregateCall | WindowCall) for each in walk(expr)) and expr not in self._keys:
                self._keys.append(expr)


def _aggregates(expr: Expr) -> list[AggregateCall]:
    return [each for each in walk(expr) if isinstance(each, AggregateCall)]
