"""Binds scalar expressions: every name becomes a unique column, every node gets a type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from cauce.errors import did_you_mean
from cauce.sql_frontend.binding import aggregates, calls, predicates, windows
from cauce.sql_frontend.binding.literals import interval_constant, number_constant
from cauce.sql_frontend.binding.positions import at, only, text_of
from cauce.sql_frontend.binding.scope import Scope
from cauce.sql_frontend.binding.type_names import type_named
from cauce.sql_frontend.casts import castable
from cauce.sql_frontend.functions import operators as ops
from cauce.sql_frontend.functions.time_kernels import unit_named
from cauce.sql_frontend.grammar import Plus
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.translate import folded
from cauce.sql_frontend.tree import Case, Cast, Constant, Expr
from cauce.sql_frontend.types import (
    BIGINT,
    BOOLEAN,
    NULL,
    VARCHAR,
    SqlType,
)

if TYPE_CHECKING:
    from cauce.sql_frontend.binding.queries import QueryBinder


@dataclass
class ExpressionBinder:
    """Binds the expressions of one clause. `aggregates` and `windows`: whether the clause may hold them."""

    scope: Scope
    queries: QueryBinder
    clause: str
    aggregates: bool = False
    windows: bool = False
    named_windows: dict[str, exp.Window] = field(default_factory=dict)
    aliases_first: bool = False
    _open_aliases: list[str] = field(default_factory=list)

    def bind(self, node: exp.Expr | None) -> Expr:
        if node is None:
            raise StatementError(f"a value is missing in {self.clause}", 0)
        handler = _HANDLERS.get(type(node))
        if handler is None:
            handler = next((found for kind, found in _BASES if isinstance(node, kind)), None)
        if handler is None:
            raise StatementError(f"{_construct(node)} is not supported: {text_of(node)[:60]}", at(node))
        return folded(handler(self, node))

    def bind_all(self, nodes: Sequence[exp.Expr]) -> list[Expr]:
        return [self.bind(each) for each in nodes]

    def truth(self, node: exp.Expr) -> Expr:
        return ops.truth(self.bind(node), self.clause)

    # Names and literals.

    def column(self, node: exp.Column) -> Expr:
        only(node, "a column", "this", "table")
        if isinstance(node.this, exp.Star):
            raise StatementError(f"* is not allowed in {self.clause}", at(node))
        name, table = node.name, node.table or None
        where = at(node)
        if self.aliases_first and table is None and (made := self._alias(name)) is not None:
            return made
        own = self.scope.find(name, table, where)
        if own is None and table is None and (made := self._alias(name)) is not None:
            return made
        found = own if own is not None else self.scope.resolve(name, table, where)
        if found is None:
            quoted = table is None and bool(node.this.args.get("quoted"))
            self.scope.unknown(name, table, where, quoted=quoted)
            raise AssertionError
        return found

    def identifier(self, node: exp.Identifier) -> Expr:
        return self.column(exp.Column(this=node))

    def _alias(self, name: str) -> Expr | None:
        key = name.lower()
        if key not in self.scope.aliases or key in self._open_aliases:
            return None
        self._open_aliases.append(key)
        try:
            return self.bind(self.scope.aliases[key])
        finally:
            self._open_aliases.pop()

    def literal(self, node: exp.Literal) -> Expr:
        where = at(node)
        if node.is_string:
            return Constant(VARCHAR, node.this, True, at=where)
        return number_constant(str(node.this), where)

    def boolean(self, node: exp.Boolean) -> Expr:
        return Constant(BOOLEAN, bool(node.this), at=at(node))

    def null(self, node: exp.Null) -> Expr:
        return Constant(NULL, None, at=at(node))

    def parameter(self, node: exp.Placeholder) -> Expr:
        name = str(node.this or "")
        if name not in self.queries.parameters:
            if not name:
                raise StatementError("? is not supported; name the parameter, as in $year", at(node))
            hint = did_you_mean(name, self.queries.parameters)
            raise StatementError(
                f"parameter ${name} has no value; add a line such as -- parameter: {name} = 2024{hint}", at(node)
            )
        return replace(self.queries.parameters[name], at=at(node))

    def paren(self, node: exp.Paren) -> Expr:
        return self.bind(node.this)

    def array(self, node: exp.Array) -> Expr:
        return ops.make_list(self.bind_all(node.expressions), at(node))

    # Arithmetic.

    def arithmetic(self, node: exp.Binary) -> Expr:
        return ops.arithmetic(_ARITHMETIC[type(node)], self.bind(node.this), self.bind(node.expression), at(node))

    def negative(self, node: exp.Neg) -> Expr:
        return ops.negate(self.bind(node.this), at(node))

    def positive(self, node: Plus) -> Expr:
        bound = self.bind(node.this)
        if not (bound.type.is_number or bound.type == NULL):
            raise StatementError(f"+ needs a number, not {bound.type}", at(node))
        return bound

    def power(self, node: exp.Pow) -> Expr:
        return calls.call("power", self.bind_all([node.this, node.expression]), at(node))

    def absolute(self, node: exp.Abs) -> Expr:
        return calls.call("abs", [self.bind(node.this)], at(node))

    def pipes(self, node: exp.DPipe) -> Expr:
        return ops.concatenate(self.bind(node.this), self.bind(node.expression), at(node))

    def bits(self, node: exp.Binary) -> Expr:
        sign = "&" if isinstance(node, exp.BitwiseAnd) else "|"
        return ops.bits(sign, self.bind(node.this), self.bind(node.expression), at(node))

    def interval(self, node: exp.Interval) -> Expr:
        unit = node.args.get("unit")
        given = node.this
        if isinstance(given, exp.Literal) or given is None:
            return interval_constant(str(given.this if given is not None else ""), unit, at(node))
        name = unit_named(unit.name) if unit is not None else None
        if name is None:
            raise StatementError(f"unknown unit of INTERVAL {unit}", at(node))
        return calls.call(f"to_{name}s", [self.bind(given)], at(node))

    # Texts.

    def like(self, node: exp.Expr) -> Expr:
        only(node, "LIKE", "this", "expression", "negate")
        name = "ilike" if isinstance(node, exp.ILike) else "like"
        made = calls.call(name, self.bind_all([node.this, node.expression]), at(node))
        return ops.negation(made) if node.args.get("negate") else made

    def escape(self, node: exp.Escape) -> Expr:
        inner = node.this
        negated = isinstance(inner, exp.Not)
        inner = inner.this if negated else inner
        name = "ilike" if isinstance(inner, exp.ILike) else "like"
        made = calls.call(f"{name}_escape", self.bind_all([inner.this, inner.expression, node.expression]), at(node))
        return ops.negation(made) if negated or inner.args.get("negate") else made

    def named(self, node: exp.Expr) -> Expr:
        """A construct with its own syntax that is a function of the table."""
        name, keys = _NAMED[type(node)]
        given = [node.args[key] for key in keys if node.args.get(key) is not None]
        only(node, name, *keys)
        return calls.call(name, self.bind_all(given), at(node))

    def trim(self, node: exp.Trim) -> Expr:
        only(node, "TRIM", "this", "expression", "position")
        name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or "").upper(), "trim")
        given = [node.this] + ([node.expression] if node.args.get("expression") is not None else [])
        return calls.call(name, self.bind_all(given), at(node))

    def concat(self, node: exp.Concat) -> Expr:
        return calls.call("concat", self.bind_all(node.expressions), at(node))

    def extract(self, node: exp.Extract) -> Expr:
        unit = Constant(VARCHAR, node.this.name.lower(), True, at=at(node))
        return calls.call("date_part", [unit, self.bind(node.expression)], at(node))

    def bracket(self, node: exp.Bracket) -> Expr:
        value = self.bind(node.this)
        if len(node.expressions) != 1:
            raise StatementError("only one index is allowed", at(node))
        index = node.expressions[0]
        if isinstance(index, exp.Slice):
            low = self.bind(index.this) if index.this is not None else Constant(BIGINT, 1)
            high = self.bind(index.expression) if index.expression is not None else Constant(BIGINT, 2**62)
            return calls.call("list_slice", [value, low, high], at(node))
        return calls.call("list_extract", [value, folded(ops.cast(self.bind(index), BIGINT))], at(node))

    # Conversions and conditions.

    def cast(self, node: exp.Cast) -> Expr:
        only(node, "CAST", "this", "to", "safe", "_type", "action")
        kind = type_named(node.args["to"])
        return self.convert(self.bind(node.this), kind, isinstance(node, exp.TryCast), at(node))

    def convert(self, value: Expr, kind: SqlType, quiet: bool, where: int) -> Expr:
        if value.type == kind:
            return replace(value, literal=False) if isinstance(value, Constant) else value
        if not castable(value.type, kind):
            raise StatementError(f"{value.type} cannot be cast to {kind}", where)
        return Cast(kind, value, quiet, at=where)

    def case(self, node: exp.Case) -> Expr:
        only(node, "CASE", "this", "ifs", "default")
        conditions: list[Expr] = []
        for each in node.args["ifs"]:
            if node.this is None:
                conditions.append(ops.truth(self.bind(each.this), "CASE WHEN"))
            else:
                conditions.append(folded(ops.compare("=", self.bind(node.this), self.bind(each.this), at(each))))
        values = [self.bind(each.args["true"]) for each in node.args["ifs"]]
        default = node.args.get("default")
        values.append(self.bind(default) if default is not None else Constant(NULL, None, at=at(node)))
        return self.choose(conditions, values, at(node))

    def choose(self, conditions: Sequence[Expr], values: Sequence[Expr], where: int) -> Expr:
        made, kind = ops.unified(values, where, "CASE", to_text=True)
        made = [folded(each) for each in made]
        return Case(kind, tuple(zip(conditions, made[:-1], strict=True)), made[-1], at=where)

    def if_(self, node: exp.If) -> Expr:
        values = [self.bind(node.args["true"])]
        otherwise = node.args.get("false")
        values.append(self.bind(otherwise) if otherwise is not None else Constant(NULL, None, at=at(node)))
        return self.choose([ops.truth(self.bind(node.this), "IF")], values, at(node))

    # Aggregates and windows.

    def filtered(self, node: exp.Filter) -> Expr:
        return aggregates.bind_filtered(self, node)

    def within_group(self, node: exp.WithinGroup) -> Expr:
        return aggregates.bind_within_group(self, node)

    def window(self, node: exp.Window) -> Expr:
        return windows.bind_window(self, node)

    def inner(self) -> ExpressionBinder:
        """A binder for the arguments of an aggregate, which may hold no other aggregate."""
        return replace(self, aggregates=False, windows=False, clause="the argument of an aggregate")


_ARITHMETIC: dict[type, str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.IntDiv: "//", exp.Mod: "%"}
_NAMED: dict[type, tuple[str, tuple[str, ...]]] = {
    exp.Substring: ("substring", ("this", "start", "length")),
    exp.StrPosition: ("strpos", ("this", "substr")),
    exp.RegexpLike: ("regexp_matches", ("this", "expression")),
    exp.SimilarTo: ("regexp_full_match", ("this", "expression")),
    exp.Glob: ("glob", ("this", "expression")),
    exp.StartsWith: ("starts_with", ("this", "expression")),
    exp.BitwiseXor: ("xor", ("this", "expression")),
    exp.BitwiseLeftShift: ("<<", ("this", "expression")),
    exp.BitwiseRightShift: (">>", ("this", "expression")),
}

Handler = Callable[[ExpressionBinder, Any], Expr]
_HANDLERS: dict[type, Handler] = {
    exp.Column: ExpressionBinder.column,
    exp.Identifier: ExpressionBinder.identifier,
    exp.Literal: ExpressionBinder.literal,
    exp.Boolean: ExpressionBinder.boolean,
    exp.Null: ExpressionBinder.null,
    exp.Placeholder: ExpressionBinder.parameter,
    exp.Paren: ExpressionBinder.paren,
    exp.Array: ExpressionBinder.array,
    exp.And: predicates.junction,
    exp.Or: predicates.junction,
    exp.Not: predicates.negation,
    exp.Is: predicates.is_,
    exp.Between: predicates.between,
    exp.In: predicates.in_,
    exp.Exists: predicates.exists,
    exp.Neg: ExpressionBinder.negative,
    Plus: ExpressionBinder.positive,
    exp.Pow: ExpressionBinder.power,
    exp.Abs: ExpressionBinder.absolute,
    exp.DPipe: ExpressionBinder.pipes,
    exp.BitwiseAnd: ExpressionBinder.bits,
    exp.BitwiseOr: ExpressionBinder.bits,
    exp.Interval: ExpressionBinder.interval,
    exp.Like: ExpressionBinder.like,
    exp.ILike: ExpressionBinder.like,
    exp.Escape: ExpressionBinder.escape,
    exp.Trim: ExpressionBinder.trim,
    exp.Concat: ExpressionBinder.concat,
    exp.Extract: ExpressionBinder.extract,
    exp.Bracket: ExpressionBinder.bracket,
    exp.Cast: ExpressionBinder.cast,
    exp.TryCast: ExpressionBinder.cast,
    exp.Case: ExpressionBinder.case,
    exp.If: ExpressionBinder.if_,
    exp.Anonymous: calls.function,
    exp.Filter: ExpressionBinder.filtered,
    exp.WithinGroup: ExpressionBinder.within_group,
    exp.Window: ExpressionBinder.window,
    exp.CurrentDate: calls.volatile,
    exp.CurrentTimestamp: calls.volatile,
    exp.CurrentTime: calls.volatile,
    exp.CurrentDatetime: calls.volatile,
    **dict.fromkeys(predicates.COMPARISONS, predicates.comparison),
    **dict.fromkeys(_ARITHMETIC, ExpressionBinder.arithmetic),
    **dict.fromkeys(_NAMED, ExpressionBinder.named),
}
_BASES: tuple[tuple[type, Handler], ...] = ((exp.Query, predicates.scalar),)


def _construct(node: exp.Expr) -> str:
    words = "".join(f" {c}" if c.isupper() and i else c for i, c in enumerate(type(node).__name__))
    return words.upper()
