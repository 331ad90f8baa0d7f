"""Binds FROM: tables, subqueries, VALUES, unnest, and joins."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from cauce.errors import did_you_mean
from cauce.sql_frontend.binding.bound import BoundQuery
from cauce.sql_frontend.binding.expressions import ExpressionBinder
from cauce.sql_frontend.binding.positions import at, only
from cauce.sql_frontend.binding.scope import Scope, Source, Visible, written
from cauce.sql_frontend.functions import operators as ops
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.tree import (
    Call,
    Case,
    Column,
    Constant,
    Expr,
    Join,
    JoinKind,
    Project,
    Scan,
    Step,
    Unnest,
    Values,
)
from cauce.sql_frontend.types import BOOLEAN, common

if TYPE_CHECKING:
    from cauce.sql_frontend.binding.queries import QueryBinder


@dataclass
class SourceBinder:
    """Collects the sources of one FROM clause into `scope`."""

    queries: QueryBinder
    parent: Scope | None
    scope: Scope = field(init=False)

    def __post_init__(self) -> None:
        self.scope = Scope(parent=self.parent)

    def bind(self, node: exp.Expr | None, joins: list[exp.Join]) -> Step:
        if node is None:
            return Values((), ((),))
        step = self._with_own_joins(node)
        for join in joins:
            step = self._join(step, join)
        return step

    def _with_own_joins(self, node: exp.Expr) -> Step:
        step = self._source(node)
        for join in node.args.get("joins") or []:
            step = self._join(step, join)
        return step

    # Sources.

    def _source(self, node: exp.Expr) -> Step:
        match node:
            case exp.Table():
                return self._table(node)
            case exp.Subquery() if isinstance(node.this, exp.Table):
                only(node, "a join in parentheses", "this", "alias", "joins")
                if node.alias:
                    raise StatementError(
                        "an alias of joins in parentheses is not supported; give each table its own alias", at(node)
                    )
                return self._with_own_joins(node.this)
            case exp.Subquery():
                only(node, "a subquery", "this", "alias", "joins", "with_", "order", "limit", "offset")
                bound = self.queries.subquery(node, self.parent)
                return self._add(bound, node.args.get("alias"), node)
            case exp.Values():
                only(node, "VALUES", "expressions", "alias", "joins")
                return self._add(self.queries.values(node), node.args.get("alias"), node)
            case exp.Unnest():
                return self._unnest(node, Values((), ((),)))
            case exp.Lateral():
                raise StatementError(
                    "LATERAL is not supported; write a join or a correlated subquery in SELECT", at(node)
                )
        raise StatementError(f"{type(node).__name__.upper()} is not supported in FROM", at(node))

    def _table(self, node: exp.Table) -> Step:
        only(node, "a table", "this", "alias", "joins")
        if not isinstance(node.this, exp.Identifier):
            raise StatementError(
                f"table functions such as {node.this.sql()[:40]} are not supported; name a table or a file", at(node)
            )
        name = node.this.name
        cte = self.queries.ctes.get(name.lower())
        if cte is not None:
            return self._cte(cte, node)
        table = self.queries.catalogue.find(name)
        if table is None:
            known = [*self.queries.catalogue.names, *self.queries.ctes]
            there = f"; there are {_listed(known)}" if known else "; there are no tables"
            raise StatementError(
                f"there is no table {name}{did_you_mean(name, map(written, known)) or there}", at(node)
            )
        columns = tuple(
            Visible(column, self.queries.names.fresh(column), kind) for column, kind in table.columns.items()
        )
        self._check_alias(node.alias or table.name, node)
        self.scope.sources.append(_aliased(node.alias or table.name, columns, node.args.get("alias")))
        return Scan(table.name, tuple((each.name, each.unique, each.type) for each in columns))

    def _cte(self, cte: BoundQuery, node: exp.Table) -> Step:
        """Each use has its own column names over the same rows, which are computed once."""
        columns = tuple(Visible(each.name, self.queries.names.fresh(each.name), each.type) for each in cte.outputs)
        self._check_alias(node.alias or node.this.name, node)
        self.scope.sources.append(_aliased(node.alias or node.this.name, columns, node.args.get("alias")))
        pairs = zip(columns, cte.outputs, strict=True)
        return Project(cte.step, tuple((new.unique, Column(old.type, old.unique)) for new, old in pairs))

    def _add(self, bound: BoundQuery, alias: exp.Expr | None, node: exp.Expr) -> Step:
        name = alias.name if alias is not None else ""
        self._check_alias(name, node)
        self.scope.sources.append(_aliased(name, bound.outputs, alias))
        return bound.step

    def _check_alias(self, name: str, node: exp.Expr) -> None:
        if name and any(source.alias.lower() == name.lower() for source in self.scope.sources):
            raise StatementError(f"two tables have the name {name} here; give one an alias", at(node))

    def _unnest(self, node: exp.Unnest, step: Step) -> Step:
        only(node, "unnest", "expressions", "alias")
        if len(node.expressions) != 1:
            raise StatementError("unnest takes one list", at(node))
        value = ExpressionBinder(self.scope, self.queries, "unnest").bind(node.expressions[0])
        if value.type.element is None:
            raise StatementError(f"unnest needs a list, not {value.type}", at(node))
        alias = node.args.get("alias")
        given = [each.name for each in (alias.args.get("columns") or [])] if alias is not None else []
        name = given[0] if given else "unnest"
        unique = self.queries.names.fresh(name)
        kept = tuple((each, Column(kind, each)) for each, kind in step.columns.items())
        listed = Project(step, (*kept, (unique, value)))
        column = Visible(name, unique, value.type.element)
        self.scope.sources.append(Source(alias.name if alias is not None else "unnest", (column,)))
        return Unnest(listed, unique, value.type.element)

    # Joins.

    def _join(self, left: Step, node: exp.Join) -> Step:
        only(node, "a join", "this", "on", "side", "kind", "using", "method")
        method = str(node.args.get("method") or "").upper()
        if method not in ("", "NATURAL"):
            raise StatementError(f"{method} joins are not supported", at(node))
        if isinstance(node.this, exp.Unnest):
            if node.args.get("side"):
                raise StatementError("unnest joins with a comma or CROSS JOIN only", at(node))
            return self._unnest(node.this, left)
        before = len(self.scope.sources)
        right = self._with_own_joins(node.this)
        how = _kind_of(node)
        conditions = self._conditions(node, how, before, method == "NATURAL")
        if how in ("semi", "anti"):
            del self.scope.sources[before:]
        if how != "inner" and not (node.args.get("on") or node.args.get("using") or method):
            raise StatementError(f"a {how.upper()} JOIN needs ON or USING", at(node))
        return Join(left, right, how, conditions)

    def _conditions(self, node: exp.Join, how: JoinKind, before: int, natural: bool) -> tuple[Expr, ...]:
        using = [each.name for each in node.args.get("using") or []]
        if natural:
            using = self._shared_names(before)
            if not using:
                raise StatementError("a NATURAL JOIN needs columns with the same name on both sides", at(node))
        if using:
            return tuple(self._using(name, how, before, node) for name in using)
        on = node.args.get("on")
        if on is None:
            return ()
        bound = ExpressionBinder(self.scope, self.queries, "ON").truth(on)
        return conjuncts(bound)

    def _shared_names(self, before: int) -> list[str]:
        left = {c.name.lower() for source in self.scope.sources[:before] for c in source.columns}
        return [c.name for source in self.scope.sources[before:] for c in source.columns if c.name.lower() in left]

    def _using(self, name: str, how: JoinKind, before: int, node: exp.Join) -> Expr:
        where = at(node)
        left_scope = Scope(self.scope.sources[:before], merged=self.scope.merged)
        right_scope = Scope(self.scope.sources[before:])
        left, right = left_scope.find(name, None, where), right_scope.find(name, None, where)
        if left is None or right is None:
            raise StatementError(
                f"USING ({name}): the column is missing on the {'left' if left is None else 'right'} side", where
            )
        assert isinstance(right, Column)
        if common(left.type, right.type) is None:
            raise StatementError(
                f"USING ({name}): {left.type} and {right.type} do not compare; write ON with a CAST", where
            )
        self.scope.hidden |= {each.name for each in (left, right) if isinstance(each, Column)}
        self.scope.merged[name.lower()] = _merged(left, right, how)
        return ops.compare("=", left, right, where)


def _merged(left: Expr, right: Expr, how: JoinKind) -> Expr:
    if how == "right":
        return right
    if how != "full":
        return left
    (a, b), kind = ops.unified([left, right], left.at, "USING")
    return Case(kind, ((ops.negation(ops.is_null(a)), a),), b, at=left.at)


def _aliased(name: str, columns: tuple[Visible, ...], alias: exp.Expr | None) -> Source:
    given = [each.name for each in (alias.args.get("columns") or [])] if alias is not None else []
    if len(given) > len(columns):
        raise StatementError(
            f"{name} has {len(columns)} columns, but its alias names {len(given)}", at(alias or exp.Null())
        )
    made = [
        Visible(given[i] if i < len(given) else each.name, each.unique, each.type) for i, each in enumerate(columns)
    ]
    return Source(name, tuple(made))


def _kind_of(node: exp.Join) -> JoinKind:
    side, kind = str(node.args.get("side") or "").upper(), str(node.args.get("kind") or "").upper()
    if kind in ("SEMI", "ANTI"):
        return "semi" if kind == "SEMI" else "anti"
    sides: dict[str, JoinKind] = {"LEFT": "left", "RIGHT": "right", "FULL": "full"}
    if side in sides:
        return sides[side]
    if side or kind not in ("", "INNER", "CROSS", "OUTER"):
        raise StatementError(f"{side} {kind} JOIN is not supported".strip(), at(node))
    return "inner"


def conjuncts(expr: Expr) -> tuple[Expr, ...]:
    """The conditions that AND connects."""
    if isinstance(expr, Call) and expr.function is ops.AND:
        return tuple(each for part in expr.arguments for each in conjuncts(part))
    if isinstance(expr, Constant) and expr.type == BOOLEAN and expr.value is True:
        return ()
    return (expr,)


_SHOWN_TABLES = 20


def _listed(names: list[str]) -> str:
    """Names of tables as a statement writes them."""
    more = f" and {len(names) - _SHOWN_TABLES} more" if len(names) > _SHOWN_TABLES else ""
    return ", ".join(map(written, names[:_SHOWN_TABLES])) + more
