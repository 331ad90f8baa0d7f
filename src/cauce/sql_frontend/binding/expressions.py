"""Binds scalar expressions: every name becomes a unique column, every node gets a type."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal as PyDecimal
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from cauce.errors import did_you_mean
from cauce.sql_frontend import types
from cauce.sql_frontend.binding import aggregates, windows
from cauce.sql_frontend.binding.intervals import interval_constant
from cauce.sql_frontend.binding.positions import at, only, text_of
from cauce.sql_frontend.binding.scope import Scope
from cauce.sql_frontend.casts import castable
from cauce.sql_frontend.functions import operators as ops
from cauce.sql_frontend.functions.catalogue import TABLE
from cauce.sql_frontend.functions.table import Function
from cauce.sql_frontend.functions.time_kernels import unit_named
from cauce.sql_frontend.grammar import Plus
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.translate import folded
from cauce.sql_frontend.tree import Call, Case, Cast, Constant, Expr, SubqueryExpr
from cauce.sql_frontend.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    NULL,
    VARCHAR,
    SqlType,
    conversion_cost,
    decimal,
    integer_of,
    list_of,
)

if TYPE_CHECKING:
    from cauce.sql_frontend.binding.queries import QueryBinder


@dataclass
class ExpressionBinder:
    """Binds the expressions of one clause. `aggregates` and `windows` tell whether the clause may hold them."""

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
            self.scope.unknown(name, table, where)
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

    # Logic.

    def junction(self, node: exp.Connector) -> Expr:
        name = "AND" if isinstance(node, exp.And) else "OR"
        parts = [ops.truth(self.bind(each), name) for each in node.flatten()]
        made = ops.AND if isinstance(node, exp.And) else ops.OR
        return Call(BOOLEAN, made, tuple(parts), at=at(node))

    def negation(self, node: exp.Not) -> Expr:
        return ops.negation(ops.truth(self.bind(node.this), "NOT"))

    def comparison(self, node: exp.Binary) -> Expr:
        left, right = node.this, node.expression
        sign = _COMPARISONS[type(node)]
        if isinstance(right, exp.Any | exp.All) or isinstance(left, exp.Any | exp.All):
            return self._quantified(node, sign)
        if isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple):
            return self._tuples(sign, left, right)
        return ops.compare(sign, self.bind(left), self.bind(right), at(node))

    def _tuples(self, sign: str, left: exp.Tuple, right: exp.Tuple) -> Expr:
        if sign not in ("=", "<>") or len(left.expressions) != len(right.expressions):
            raise StatementError("rows compare with = and <> only, with as many values on both sides", at(left))
        pairs = [
            ops.compare("=", self.bind(a), self.bind(b), at(a))
            for a, b in zip(left.expressions, right.expressions, strict=True)
        ]
        made = ops.conjunction(pairs)
        return made if sign == "=" else ops.negation(made)

    def _quantified(self, node: exp.Binary, sign: str) -> Expr:
        """= ANY is IN, <> ALL is NOT IN."""
        right = node.expression
        if isinstance(right, exp.Any) and sign == "=":
            return self._in_query(node.this, right.this, at(node))
        if isinstance(right, exp.All) and sign == "<>":
            return ops.negation(self._in_query(node.this, right.this, at(node)))
        word = "ANY" if isinstance(right, exp.Any) else "ALL"
        raise StatementError(
            f"{sign} {word} is not supported; compare with (SELECT min(...)) or (SELECT max(...))", at(node)
        )

    def is_(self, node: exp.Is) -> Expr:
        value = self.bind(node.this)
        match node.expression:
            case exp.Null():
                return ops.is_null(value)
            case exp.Boolean(this=wanted):
                value = ops.truth(value, "IS")
                tested = value if wanted else ops.negation(value)
                return Call(BOOLEAN, ops.IS_TRUE, (tested,), at=at(node))
        raise StatementError(f"{text_of(node)} is not supported", at(node))

    def between(self, node: exp.Between) -> Expr:
        only(node, "BETWEEN", "this", "low", "high")
        value, low, high = self.bind(node.this), self.bind(node.args["low"]), self.bind(node.args["high"])
        where = at(node)
        return ops.conjunction([ops.compare(">=", value, low, where), ops.compare("<=", value, high, where)])

    def in_(self, node: exp.In) -> Expr:
        only(node, "IN", "this", "expressions", "query")
        query = node.args.get("query")
        if query is not None:
            return self._in_query(node.this, query, at(node))
        if not node.expressions:
            raise StatementError("IN takes a list or a query in parentheses, as in IN (1, 2)", at(node))
        if len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Values):
            return self._in_query(node.this, node.expressions[0], at(node))
        if isinstance(node.this, exp.Tuple):
            if not all(isinstance(each, exp.Tuple) for each in node.expressions):
                raise StatementError("IN compares rows with rows, as in (a, b) IN ((1, 2), (3, 4))", at(node))
            rows = [self._tuples("=", node.this, each) for each in node.expressions]
            return rows[0] if len(rows) == 1 else Call(BOOLEAN, ops.OR, tuple(rows), at=at(node))
        return ops.in_list(self.bind(node.this), self.bind_all(node.expressions), at(node))

    def _in_query(self, left: exp.Expr, query: exp.Expr, where: int) -> Expr:
        operands = self.bind_all(left.expressions if isinstance(left, exp.Tuple) else [left])
        bound = self.queries.subquery(query, self.scope)
        if len(operands) != len(bound.outputs):
            raise StatementError(
                f"IN compares {len(operands)} with {len(bound.outputs)} columns of the subquery", where
            )
        return SubqueryExpr(
            BOOLEAN, "in", bound.step, tuple(operands), tuple(each.unique for each in bound.outputs), at=where
        )

    def exists(self, node: exp.Exists) -> Expr:
        bound = self.queries.subquery(node.this, self.scope)
        return SubqueryExpr(
            BOOLEAN, "exists", bound.step, (), tuple(each.unique for each in bound.outputs), at=at(node)
        )

    def scalar(self, node: exp.Query) -> Expr:
        bound = self.queries.subquery(node, self.scope)
        if len(bound.outputs) != 1:
            raise StatementError(f"a subquery used as a value must have one column, not {len(bound.outputs)}", at(node))
        output = bound.outputs[0]
        return SubqueryExpr(output.type, "scalar", bound.step, (), (output.unique,), at=at(node))

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
        return self.call("power", self.bind_all([node.this, node.expression]), at(node))

    def absolute(self, node: exp.Abs) -> Expr:
        return self.call("abs", [self.bind(node.this)], at(node))

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
        return self.call(f"to_{name}s", [self.bind(given)], at(node))

    # Texts.

    def like(self, node: exp.Expr) -> Expr:
        only(node, "LIKE", "this", "expression", "negate")
        name = "ilike" if isinstance(node, exp.ILike) else "like"
        made = self.call(name, self.bind_all([node.this, node.expression]), at(node))
        return ops.negation(made) if node.args.get("negate") else made

    def escape(self, node: exp.Escape) -> Expr:
        inner = node.this
        negated = isinstance(inner, exp.Not)
        inner = inner.this if negated else inner
        name = "ilike" if isinstance(inner, exp.ILike) else "like"
        made = self.call(f"{name}_escape", self.bind_all([inner.this, inner.expression, node.expression]), at(node))
        return ops.negation(made) if negated or inner.args.get("negate") else made

    def named(self, node: exp.Expr) -> Expr:
        """A construct with its own syntax that is a function of the table."""
        name, keys = _NAMED[type(node)]
        given = [node.args[key] for key in keys if node.args.get(key) is not None]
        only(node, name, *keys)
        return self.call(name, self.bind_all(given), at(node))

    def trim(self, node: exp.Trim) -> Expr:
        only(node, "TRIM", "this", "expression", "position")
        name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or "").upper(), "trim")
        given = [node.this] + ([node.expression] if node.args.get("expression") is not None else [])
        return self.call(name, self.bind_all(given), at(node))

    def concat(self, node: exp.Concat) -> Expr:
        return self.call("concat", self.bind_all(node.expressions), at(node))

    def extract(self, node: exp.Extract) -> Expr:
        unit = Constant(VARCHAR, node.this.name.lower(), True, at=at(node))
        return self.call("date_part", [unit, self.bind(node.expression)], at(node))

    def bracket(self, node: exp.Bracket) -> Expr:
        value = self.bind(node.this)
        if len(node.expressions) != 1:
            raise StatementError("only one index is allowed", at(node))
        index = node.expressions[0]
        if isinstance(index, exp.Slice):
            low = self.bind(index.this) if index.this is not None else Constant(BIGINT, 1)
            high = self.bind(index.expression) if index.expression is not None else Constant(BIGINT, 2**62)
            return self.call("list_slice", [value, low, high], at(node))
        return self.call("list_extract", [value, folded(ops.cast(self.bind(index), BIGINT))], at(node))

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

    # Functions.

    def function(self, node: exp.Anonymous) -> Expr:
        name = str(node.this).lower()
        where = at(node)
        special = _SPECIAL.get(name)
        if special is not None:
            return special(self, node)
        if name in aggregates.AGGREGATES or name in ("count", "grouping", "grouping_id"):
            return aggregates.bind_aggregate(self, node)
        if name in windows.WINDOW_FUNCTIONS:
            raise StatementError(f"{name} needs a window: write {name}(...) OVER (ORDER BY ...)", where)
        if any(isinstance(each, exp.Lambda) for each in node.expressions):
            raise StatementError(
                f"lambda functions, as in {name}(...), are not supported; use unnest and a subquery", where
            )
        for each in node.expressions:
            if isinstance(each, exp.Star | exp.Distinct | exp.Order | exp.PropertyEQ | exp.Kwarg):
                raise StatementError(f"{text_of(each)[:40]} is not allowed in {name}(...)", where)
        return self.call(name, self.bind_all(node.expressions), where)

    def call(self, name: str, arguments: Sequence[Expr], where: int) -> Expr:
        overloads = TABLE.by_name.get(name)
        if overloads is None:
            known = [*TABLE.by_name, *aggregates.AGGREGATES, *windows.WINDOW_FUNCTIONS]
            hint = _NO_SUCH.get(name) or did_you_mean(name, known) or "; see docs/sql.md for the functions that exist"
            raise StatementError(f"there is no function {name}{hint}", where)
        chosen = min(
            (
                (cost, number, function)
                for number, function in enumerate(overloads)
                if (cost := _cost(function, arguments)) is not None
            ),
            default=None,
            key=lambda each: each[:2],
        )
        if chosen is None:
            given = ", ".join(str(each.type) for each in arguments)
            wanted = " or ".join(each.signature for each in overloads[:4])
            raise StatementError(f"{name}({given}) does not exist; expected {wanted}; add a CAST", where)
        return folded(applied(chosen[2], arguments, where))

    def coalesce(self, node: exp.Anonymous) -> Expr:
        values = self.bind_all(node.expressions)
        if not values:
            raise StatementError("coalesce needs an argument", at(node))
        if len(values) == 1:
            return values[0]
        made, kind = ops.unified(values, at(node), "coalesce", to_text=True)
        made = [folded(each) for each in made]
        branches = tuple((ops.negation(ops.is_null(each)), each) for each in made[:-1])
        return Case(kind, branches, made[-1], at=at(node))

    def nullif(self, node: exp.Anonymous) -> Expr:
        if len(node.expressions) != 2:
            raise StatementError("nullif takes two arguments", at(node))
        first, second = self.bind_all(node.expressions)
        same = folded(ops.compare("=", first, second, at(node)))
        return Case(first.type, ((same, Constant(first.type, None)),), first, at=at(node))

    def typeof(self, node: exp.Anonymous) -> Expr:
        if len(node.expressions) != 1:
            raise StatementError("typeof takes one argument", at(node))
        kind = self.bind(node.expressions[0]).type
        return Constant(VARCHAR, '"NULL"' if kind == NULL else str(kind), at=at(node))

    def try_(self, node: exp.Anonymous) -> Expr:
        raise StatementError("TRY is not supported; use TRY_CAST, or CASE to avoid the error", at(node))

    def volatile(self, node: exp.Expr) -> Expr:
        name = str(node.this) if isinstance(node, exp.Anonymous) else text_of(node)
        raise StatementError(
            f"{name} gives another value on every run; give the value as a parameter or a literal", at(node)
        )

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


def _cost(function: Function, arguments: Sequence[Expr]) -> int | None:
    expected = function.expected(len(arguments))
    if expected is None:
        return None
    total = 0
    for wanted, given in zip(expected, arguments, strict=True):
        cost = 0 if wanted == "SAME" else conversion_cost(given.type, wanted)
        if cost is None and isinstance(given, Constant) and given.literal and given.type == VARCHAR:
            cost = 20 if wanted in types.SqlType.DTYPES or wanted == "NUMBER" else None
        if cost is None and wanted == "LIST" and given.type.element is not None:
            cost = 0
        if cost is None:
            return None
        total += cost
    return total


def applied(function: Function, arguments: Sequence[Expr], where: int) -> Expr:
    """The call with its arguments converted to the parameters."""
    expected = function.expected(len(arguments)) or ()
    made = list(arguments)
    same = [index for index, wanted in enumerate(expected) if wanted == "SAME"]
    if same:
        unified, _ = ops.unified([made[index] for index in same], where, function.name, to_text=True)
        for index, expr in zip(same, unified, strict=True):
            made[index] = folded(expr)
    for index, wanted in enumerate(expected):
        if wanted in SqlType.DTYPES and made[index].type.name != wanted:
            made[index] = folded(ops.cast(made[index], SqlType(wanted)))
        elif wanted == "NUMBER" and not made[index].type.is_number:
            made[index] = folded(ops.cast(made[index], DOUBLE))
        elif wanted == "INTEGRAL" and not made[index].type.is_integer:
            made[index] = folded(ops.cast(made[index], BIGINT))
        elif wanted == "LIST" and made[index].type == NULL:
            made[index] = Constant(list_of(INTEGER), None, at=made[index].at)
    kind = function.result_type([each.type for each in made])
    if function.refine is not None:
        kind = function.refine(kind, [each.value if isinstance(each, Constant) else None for each in made])
    return Call(kind, function, tuple(made), at=where)


def number_constant(text: str, where: int) -> Constant:
    plain = text.replace("_", "")
    if not re.fullmatch(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", plain):
        raise StatementError(f"{text} is not a number", where)
    if "e" in plain.lower():
        return Constant(DOUBLE, float(plain), True, at=where)
    if "." not in plain:
        value = int(plain)
        kind = integer_of(value)
        return Constant(kind, float(value) if kind == DOUBLE else value, True, at=where)
    scale = len(plain.partition(".")[2])
    precision = max(len(plain) - 1, 1)
    if precision > types.MOST_DIGITS:
        return Constant(DOUBLE, float(plain), True, at=where)
    return Constant(decimal(precision, scale), PyDecimal(plain), True, at=where)


def type_named(node: exp.DataType) -> SqlType:
    """The type of a CAST."""
    kind = node.this
    name = kind.name if isinstance(kind, exp.DType) else str(kind)
    if name in ("ARRAY", "LIST"):
        return list_of(type_named(node.expressions[0]))
    if name == "DECIMAL":
        given = [int(each.this.this) for each in node.expressions if isinstance(each, exp.DataTypeParam)]
        precision, scale = [*given, 0][:2] if given else (18, 3)
        if not 1 <= precision <= types.MOST_DIGITS or not 0 <= scale <= precision:
            raise StatementError(
                f"DECIMAL({precision},{scale}): the width must be 1 to 38, the scale 0 to the width", at(node)
            )
        return decimal(precision, scale)
    found = _TYPES.get(name)
    if found is None:
        raise StatementError(
            f"type {text_of(node)} is not supported; expected one of {', '.join(_SHOWN_TYPES)}", at(node)
        )
    return found


_TYPES: dict[str, SqlType] = {
    "BOOLEAN": BOOLEAN,
    "TINYINT": types.TINYINT,
    "SMALLINT": types.SMALLINT,
    "INT": INTEGER,
    "BIGINT": BIGINT,
    "INT128": types.HUGEINT,
    "FLOAT": types.FLOAT,
    "DOUBLE": DOUBLE,
    "TEXT": VARCHAR,
    "VARCHAR": VARCHAR,
    "CHAR": VARCHAR,
    "BPCHAR": VARCHAR,
    "NVARCHAR": VARCHAR,
    "DATE": types.DATE,
    "TIME": types.TIME,
    "TIMESTAMP": types.TIMESTAMP,
    "TIMESTAMPNTZ": types.TIMESTAMP,
    "DATETIME": types.TIMESTAMP,
    "TIMESTAMPTZ": types.TIMESTAMPTZ,
    "INTERVAL": types.INTERVAL,
}
_SHOWN_TYPES = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "DECIMAL(p,s)", "FLOAT", "DOUBLE", "VARCHAR",
    "DATE", "TIME", "TIMESTAMP", "TIMESTAMPTZ", "a list such as INTEGER[]",
)  # fmt: skip

_COMPARISONS: dict[type, str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "is not distinct from",
    exp.NullSafeNEQ: "is distinct from",
}
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
    exp.And: ExpressionBinder.junction,
    exp.Or: ExpressionBinder.junction,
    exp.Not: ExpressionBinder.negation,
    exp.Is: ExpressionBinder.is_,
    exp.Between: ExpressionBinder.between,
    exp.In: ExpressionBinder.in_,
    exp.Exists: ExpressionBinder.exists,
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
    exp.Anonymous: ExpressionBinder.function,
    exp.Filter: ExpressionBinder.filtered,
    exp.WithinGroup: ExpressionBinder.within_group,
    exp.Window: ExpressionBinder.window,
    exp.CurrentDate: ExpressionBinder.volatile,
    exp.CurrentTimestamp: ExpressionBinder.volatile,
    exp.CurrentTime: ExpressionBinder.volatile,
    exp.CurrentDatetime: ExpressionBinder.volatile,
    **dict.fromkeys(_COMPARISONS, ExpressionBinder.comparison),
    **dict.fromkeys(_ARITHMETIC, ExpressionBinder.arithmetic),
    **dict.fromkeys(_NAMED, ExpressionBinder.named),
}
_BASES: tuple[tuple[type, Handler], ...] = ((exp.Query, ExpressionBinder.scalar),)

_VOLATILE = (
    "now",
    "random",
    "today",
    "current_date",
    "current_timestamp",
    "get_current_timestamp",
    "get_current_time",
    "transaction_timestamp",
    "uuid",
    "gen_random_uuid",
    "setseed",
)
_SPECIAL: dict[str, Callable[[ExpressionBinder, exp.Anonymous], Expr]] = {
    "coalesce": ExpressionBinder.coalesce,
    "ifnull": ExpressionBinder.coalesce,
    "nvl": ExpressionBinder.coalesce,
    "nullif": ExpressionBinder.nullif,
    "typeof": ExpressionBinder.typeof,
    "try": ExpressionBinder.try_,
    **dict.fromkeys(_VOLATILE, ExpressionBinder.volatile),
}

_NO_SUCH = {
    "unnest": "; unnest is supported in FROM: SELECT ... FROM t, unnest(t.list) AS u(value)",
    "to_char": "; write strftime(time, format)",
    "getdate": "; give the date as a parameter",
    "len": "; write length(text)",
    "charindex": "; write strpos(text, part)",
    "isnull": "; write coalesce(a, b)",
    "iff": "; write if(condition, a, b)",
    "decode": "; write CASE",
}


def _construct(node: exp.Expr) -> str:
    words = "".join(f" {c}" if c.isupper() and i else c for i, c in enumerate(type(node).__name__))
    return words.upper()
