"""Operators: comparisons, logic, arithmetic of numbers, dates and intervals, and concatenation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, time

import polars as pl

from cauce.sql_frontend.functions.arithmetic import Checked, Divide, FloatModulo, Negate
from cauce.sql_frontend.functions.table import Arguments, Function
from cauce.sql_frontend.functions.time_kernels import AddInterval, AddIntervals, ScaleInterval, SubtractTimes
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.translate import folded
from cauce.sql_frontend.tree import Call, Case, Cast, Constant, Expr
from cauce.sql_frontend.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    INTERVAL,
    MOST_DIGITS,
    NULL,
    TIMESTAMP,
    VARCHAR,
    SqlType,
    as_decimal,
    common,
    decimal,
    integer_of,
    list_of,
)


def _function(name: str, build: Callable[[Arguments], pl.Expr], checks: bool = False) -> Function:
    return Function(name, ("ANY", "ANY"), NULL, build, checks=checks)


# Conversions.


def cast(expr: Expr, kind: SqlType) -> Expr:
    """The expression as this type. A literal becomes a literal of the type where its value allows it."""
    if expr.type == kind:
        return expr
    if isinstance(expr, Constant):
        if expr.value is None:
            return Constant(kind, None, at=expr.at)
        if expr.type.is_integer and kind.is_integer and integer_of(expr.value).bits <= kind.bits:
            return Constant(kind, expr.value, at=expr.at)
    return folded(Cast(kind, expr, at=expr.at))


def unified(exprs: Sequence[Expr], at: int, what: str, to_text: bool = False) -> tuple[list[Expr], SqlType]:
    """Converts expressions to their common type. Literals take the type of the others. With `to_text`, a text and
    another type give a text."""
    fixed = [each for each in exprs if not (isinstance(each, Constant) and each.literal)]
    literals = [each for each in exprs if isinstance(each, Constant) and each.literal]
    kind: SqlType = NULL
    for each in fixed:
        kind = _common_or_refuse(kind, each.type, at, what, to_text)
    for each in literals:
        kind = _with_literal(kind, each, at, what, to_text)
    return [cast(each, kind) for each in exprs], kind


def _common_or_refuse(one: SqlType, other: SqlType, at: int, what: str, to_text: bool) -> SqlType:
    found = common(one, other)
    if found is None and to_text and VARCHAR in (one, other) and not (one.element or other.element):
        found = VARCHAR
    if found is None:
        raise StatementError(f"{what} needs values of one type, not {one} and {other}; add a CAST", at)
    return found


def _with_literal(kind: SqlType, given: Constant, at: int, what: str, to_text: bool) -> SqlType:
    if given.type == VARCHAR and kind not in (NULL, VARCHAR) and not kind.element:
        return kind
    if given.type.is_integer and kind.is_integer:
        return (
            kind
            if integer_of(given.value).bits <= 32 and _fits(given.value, kind)
            else (common(kind, given.type) or kind)
        )
    return _common_or_refuse(kind, given.type, at, what, to_text)


def _fits(value: int, kind: SqlType) -> bool:
    return bool(-(2 ** (kind.bits - 1)) <= value < 2 ** (kind.bits - 1))


# Comparisons.

_COMPARE: dict[str, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "is distinct from": lambda a, b: a.ne_missing(b),
    "is not distinct from": lambda a, b: a.eq_missing(b),
}


def _comparison(name: str) -> Function:
    return _function(name, lambda args: _COMPARE[name](args[0], args[1]))


COMPARISONS = {name: _comparison(name) for name in _COMPARE}


def compare(name: str, left: Expr, right: Expr, at: int) -> Expr:
    (left, right), kind = unified([left, right], at, f"the comparison {name}")
    if kind == INTERVAL:
        raise StatementError("comparisons of INTERVAL are not supported; compare times instead", at)
    if kind == TIMESTAMP:
        left, right = _as_dates(left, right)
    return folded(Call(BOOLEAN, COMPARISONS[name], (left, right), at=at))


def _as_dates(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """A date and midnight of a day are compared as dates, which need not be converted."""
    if isinstance(left, Constant) and isinstance(right, Cast):
        right, left = _as_dates(right, left)
    elif isinstance(left, Cast) and left.operand.type == DATE and isinstance(right, Constant):
        value = right.value
        if isinstance(value, datetime) and value.time() == time.min:
            return left.operand, Constant(DATE, value.date(), at=right.at)
    return left, right


# Logic.

AND = _function("and", lambda args: pl.all_horizontal(*args.exprs) if len(args) > 2 else args[0] & args[1])
OR = _function("or", lambda args: pl.any_horizontal(*args.exprs) if len(args) > 2 else args[0] | args[1])
NOT = _function("not", lambda args: ~args[0])
IS_NULL = _function("is null", lambda args: args[0].is_null())
IS_TRUE = _function("is true", lambda args: args[0].fill_null(False))


def truth(expr: Expr, what: str) -> Expr:
    if expr.type == NULL:
        return cast(expr, BOOLEAN)
    if expr.type.is_integer:
        return compare("<>", expr, Constant(INTEGER, 0, literal=True), expr.at)
    if expr.type != BOOLEAN:
        raise StatementError(f"{what} needs a BOOLEAN, not {expr.type}; write a comparison", expr.at)
    return expr


def conjunction(exprs: Sequence[Expr]) -> Expr:
    return exprs[0] if len(exprs) == 1 else folded(Call(BOOLEAN, AND, tuple(exprs), at=exprs[0].at))


def negation(expr: Expr) -> Expr:
    return folded(Call(BOOLEAN, NOT, (expr,), at=expr.at))


def is_null(expr: Expr) -> Expr:
    return folded(Call(BOOLEAN, IS_NULL, (expr,), at=expr.at))


def coalesce(first: Expr, second: Expr) -> Expr:
    return Case(first.type, ((negation(is_null(first)), first),), second, at=first.at)


# Membership in a list of values.


def _in_list(args: Arguments) -> pl.Expr:
    value, options = args[0], args.constants[1:]
    if all(args.is_constant[1:]):
        present = [each for each in options if each is not None]
        found = value.is_in(pl.Series(present, dtype=args.types[0].dtype).implode()) if present else pl.lit(False)
        if len(present) < len(options):
            return pl.when(found).then(True).otherwise(None)
        return pl.when(value.is_not_null()).then(found) if present else found & value.is_not_null()
    return pl.any_horizontal(*(value == each for each in args.exprs[1:]))


IN_LIST = _function("in", _in_list)


def in_list(value: Expr, options: Sequence[Expr], at: int) -> Expr:
    exprs, _ = unified([value, *options], at, "IN")
    return folded(Call(BOOLEAN, IN_LIST, tuple(exprs), at=at))


# Arithmetic.


def _checked(operation: str) -> Function:
    def build(args: Arguments) -> pl.Expr:
        return args.run(Checked(args.where, operation, args.type), args[0], args[1], args.guard)

    return Function(operation, ("ANY", "ANY"), NULL, build, checks=True, operation=operation)


_CHECKED = {name: _checked(name) for name in ("add", "subtract", "multiply", "divide", "modulo")}
_FLOAT: dict[str, Function] = {
    "add": _function("add", lambda args: args[0] + args[1]),
    "subtract": _function("subtract", lambda args: args[0] - args[1]),
    "multiply": _function("multiply", lambda args: args[0] * args[1]),
    "modulo": _function("modulo", lambda args: args.run(FloatModulo(args.where))),
}
_DIVIDE = _function("divide", lambda args: args.run(Divide(args.where)))
_SIGNS = {"+": "add", "-": "subtract", "*": "multiply", "%": "modulo", "//": "divide"}


def arithmetic(sign: str, left: Expr, right: Expr, at: int) -> Expr:
    left, right = _adapted(left, right)
    if left.type == NULL and right.type == NULL:
        left = right = Constant(INTEGER, None, at=at)
    elif left.type == NULL:
        left = cast(left, right.type)
    elif right.type == NULL:
        right = cast(right, left.type)
    if left.type.is_number and right.type.is_number:
        return _numbers(sign, left, right, at)
    return _times(sign, left, right, at)


def _adapted(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Text literals beside numbers are numbers; integer literals take the type of the other side."""
    for one, other, swap in ((left, right, False), (right, left, True)):
        if not (isinstance(one, Constant) and one.literal) or (isinstance(other, Constant) and other.literal):
            continue
        made: Expr = one
        if one.type == VARCHAR and other.type.is_number:
            made = cast(one, other.type)
        elif one.type.is_integer and other.type.is_integer and _fits(one.value, other.type):
            made = Constant(other.type, one.value, at=one.at)
        return (other, made) if swap else (made, other)
    return left, right


def _numbers(sign: str, left: Expr, right: Expr, at: int) -> Expr:
    if sign == "/":
        kind = FLOAT if left.type == right.type == FLOAT else DOUBLE
        return Call(kind, _DIVIDE, (cast(left, kind), cast(right, kind)), at=at)
    name = _SIGNS[sign]
    if (
        left.type.is_float
        or right.type.is_float
        or (sign == "//" and not (left.type.is_integer and right.type.is_integer))
    ):
        if sign == "//":
            raise StatementError("// divides integers only; write floor(a / b) or trunc(a / b)", at)
        kind = common(left.type, right.type) or DOUBLE
        return Call(kind, _FLOAT[name], (cast(left, kind), cast(right, kind)), at=at)
    if left.type.is_integer and right.type.is_integer:
        kind = common(left.type, right.type) or BIGINT
        return Call(kind, _CHECKED[name], (cast(left, kind), cast(right, kind)), at=at)
    kind = _decimal_result(name, as_decimal(left.type), as_decimal(right.type), at)
    sides = tuple(cast(each, as_decimal(each.type)) for each in (left, right))
    return Call(kind, _CHECKED[name], sides, at=at)


def _decimal_result(name: str, left: SqlType, right: SqlType, at: int) -> SqlType:
    if name == "multiply":
        scale = left.scale + right.scale
        if scale > MOST_DIGITS:
            raise StatementError(
                f"{left} * {right} needs more than {MOST_DIGITS} decimals; cast one side to fewer decimals", at
            )
        return decimal(min(left.precision + right.precision, MOST_DIGITS), scale)
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    carry = 0 if name == "modulo" else 1
    return decimal(min(whole + scale + carry, MOST_DIGITS), scale)


_NEGATE = _function("negate", lambda args: args.run(Negate(args.where, args.type), args[0], args.guard), checks=True)
_NEGATE_FLOAT = _function("negate", lambda args: -args[0])


def negate(expr: Expr, at: int) -> Expr:
    if isinstance(expr, Constant) and expr.literal and expr.type.is_number and expr.value is not None:
        kind = integer_of(-expr.value) if expr.type.is_integer else expr.type
        return Constant(kind, -expr.value, True, at=at)
    if expr.type == INTERVAL:
        return Call(INTERVAL, _SCALE_INTERVAL, (expr, Constant(BIGINT, -1)), at=at)
    if not expr.type.is_number:
        raise StatementError(f"- needs a number, not {expr.type}", at)
    return Call(expr.type, _NEGATE_FLOAT if expr.type.is_float else _NEGATE, (expr,), at=at)


# Dates and intervals.

_ADD_DAYS = _function("add", lambda args: args[0] + pl.duration(days=args[1].cast(pl.Int64)))
_DAYS_BETWEEN = _function("subtract", lambda args: (args[0] - args[1]).dt.total_days())
_SUBTRACT_TIMES = _function("subtract", lambda args: args.run(SubtractTimes(args.where)))
_ADD_INTERVAL = _function("add", lambda args: args.run(AddInterval(args.where), args[0], args[1], args.guard), True)
_ADD_INTERVALS = _function("add", lambda args: args.run(AddIntervals(args.where)))
_SCALE_INTERVAL = _function("multiply", lambda args: args.run(ScaleInterval(args.where)))


def _times(sign: str, left: Expr, right: Expr, at: int) -> Expr:
    kinds = (left.type.name, right.type.name)
    if sign == "+" and right.type.is_time and not left.type.is_time:
        left, right = right, left
        kinds = (left.type.name, right.type.name)
    if right.type == INTERVAL and sign in "+-":
        amount = right if sign == "+" else folded(negate(right, at))
        if left.type == INTERVAL:
            return Call(INTERVAL, _ADD_INTERVALS, (left, amount), at=at)
        if left.type.is_time:
            kind = TIMESTAMP if left.type == DATE else left.type
            return Call(kind, _ADD_INTERVAL, (cast(left, kind), amount), at=at)
    if left.type == DATE and right.type.is_integer and sign in "+-":
        days = right if sign == "+" else negate(right, at)
        return Call(DATE, _ADD_DAYS, (left, cast(days, BIGINT)), at=at)
    if sign == "-" and kinds == ("DATE", "DATE"):
        return Call(BIGINT, _DAYS_BETWEEN, (left, right), at=at)
    if sign == "-" and left.type.is_time and right.type.is_time:
        sides, _ = unified([left, right], at, "-")
        return Call(INTERVAL, _SUBTRACT_TIMES, tuple(sides), at=at)
    if sign == "*" and "INTERVAL" in kinds:
        interval, factor = (left, right) if left.type == INTERVAL else (right, left)
        if factor.type.is_integer:
            return Call(INTERVAL, _SCALE_INTERVAL, (interval, cast(factor, BIGINT)), at=at)
    raise StatementError(f"{left.type} {sign} {right.type} does not exist; add a CAST", at)


# Texts and lists.

_CONCAT = _function("||", lambda args: args[0] + args[1])
_CONCAT_LISTS = _function("||", lambda args: pl.concat_list(args[0], args[1]))


def concatenate(left: Expr, right: Expr, at: int) -> Expr:
    if left.type.element is not None or right.type.element is not None:
        (left, right), kind = unified([left, right], at, "||")
        return Call(kind, _CONCAT_LISTS, (left, right), at=at)
    return Call(VARCHAR, _CONCAT, (cast(left, VARCHAR), cast(right, VARCHAR)), at=at)


_LIST = _function("list", lambda args: pl.concat_list([each.cast(args.type.dtype.inner) for each in args.exprs]))  # type: ignore[attr-defined]


def make_list(exprs: Sequence[Expr], at: int) -> Expr:
    if not exprs:
        return Constant(list_of(INTEGER), [], at=at)
    made, kind = unified(exprs, at, "a list", to_text=True)
    if kind.element is not None:
        raise StatementError("lists of lists are not supported", at)
    if kind == NULL:
        kind = INTEGER
        made = [cast(each, kind) for each in made]
    return Call(list_of(kind), _LIST, tuple(made), at=at)


_BITS: dict[str, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {"&": lambda a, b: a & b, "|": lambda a, b: a | b}
_BIT_FUNCTIONS = {
    sign: _function(sign, lambda args, sign=sign: _BITS[sign](args[0], args[1]))  # type: ignore[misc]
    for sign in _BITS
}


def bits(sign: str, left: Expr, right: Expr, at: int) -> Expr:
    if not (left.type.is_integer and right.type.is_integer):
        raise StatementError(f"{sign} needs integers, not {left.type} and {right.type}", at)
    (left, right), kind = unified([left, right], at, sign)
    return Call(kind, _BIT_FUNCTIONS[sign], (left, right), at=at)
