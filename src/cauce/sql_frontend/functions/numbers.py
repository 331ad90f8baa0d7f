"""Functions on numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cauce.sql_frontend.functions.arithmetic import Checked, FloatModulo, from_units, limits, units, whole, with_nulls
from cauce.sql_frontend.functions.kernel import GuardedKernel, Kernel
from cauce.sql_frontend.functions.table import Arguments, define, group
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.types import BIGINT, BOOLEAN, DOUBLE, HUGEINT, TINYINT, VARCHAR, SqlType, decimal

group("Numeric")


def _same(types: Sequence[SqlType]) -> SqlType:
    return types[0]


# Rounding.


@dataclass(frozen=True)
class RoundUnits(Kernel):
    """Rounds a decimal or an integer to `places` decimals: "half" away from zero, "down", "up" or "zero"."""

    mode: str
    places: int
    kind: SqlType

    def compute(self, *columns: pl.Series) -> pl.Series:
        (values,) = columns
        scale = values.dtype.scale if isinstance(values.dtype, pl.Decimal) else 0
        drop = scale - self.places
        made = units(values)
        if drop > 0:
            made = _rounded(made, 10**drop, self.mode)
            # In units of the result's last digit.
            made = made * whole(10 ** (self.kind.scale - self.places))
        elif self.kind.scale > scale:
            made = made * whole(10 ** (self.kind.scale - scale))
        return from_units(made, self.kind)


def _rounded(values: pl.Series, factor: int, mode: str) -> pl.Series:
    if factor >= 2**126:
        return values * whole(0)
    unit, zero = whole(factor), whole(0)
    floor = values // unit
    rest = values - floor * unit
    if mode == "down":
        return floor
    if mode == "up":
        return floor + (rest > zero).cast(pl.Int128)
    if mode == "zero":
        return floor + ((rest > zero) & (values < zero)).cast(pl.Int128)
    twice = rest + rest
    up = (twice > unit) | ((twice == unit) & (values > zero))
    return floor + up.cast(pl.Int128)


@dataclass(frozen=True)
class RoundFloat(Kernel):
    places: int

    def compute(self, *columns: pl.Series) -> pl.Series:
        (values,) = columns
        return pl.Series(
            [None if each is None else _round_half_up(each, self.places) for each in values], dtype=pl.Float64
        )


def _round_half_up(value: float, places: int) -> float:
    """As DuckDB: scaled by a power of ten, rounded half away from zero, scaled back."""
    if not math.isfinite(value):
        return value
    power = 10.0 ** abs(places)
    scaled = value * power if places >= 0 else value / power
    if not math.isfinite(scaled):
        return value
    whole = math.floor(abs(scaled) + 0.5) if abs(scaled) < 2**52 else abs(scaled)
    # 0.49999999999999994 + 0.5 rounds to 1.
    whole = whole - 1 if whole - abs(scaled) > 0.5 else whole
    made = math.copysign(float(whole), scaled)
    result = made / power if places >= 0 else made * power
    return result if math.isfinite(result) else value


def _round(args: Arguments) -> pl.Expr:
    places = args.constant(1, "the number of decimals of round") if len(args) > 1 else 0
    if places is None:
        return pl.lit(None, dtype=args.type.dtype)
    if args.types[0].is_float:
        return args.run(RoundFloat(args.where, places), args[0].cast(pl.Float64))
    return args.run(RoundUnits(args.where, "half", places, args.type), args[0])


def _round_type(types: Sequence[SqlType]) -> SqlType:
    kind = types[0]
    return decimal(kind.precision, 0) if kind.name == "DECIMAL" else kind


def _floor_type(types: Sequence[SqlType]) -> SqlType:
    return DOUBLE if types[0].is_integer else _round_type(types)


def _round_places(kind: SqlType, constants: Sequence[Any]) -> SqlType:
    places = constants[1]
    if kind.name != "DECIMAL" or not isinstance(places, int):
        return kind
    return decimal(kind.precision, min(max(places, 0), kind.scale))


def _whole(mode: str, floats: Callable[[pl.Expr], pl.Expr]) -> Callable[[Arguments], pl.Expr]:
    def build(args: Arguments) -> pl.Expr:
        if args.types[0].is_float:
            return floats(args[0])
        if args.types[0].is_integer:
            return args[0].cast(args.type.dtype)
        return args.run(RoundUnits(args.where, mode, 0, args.type))

    return build


def _truncated(value: pl.Expr) -> pl.Expr:
    return pl.when(value < 0).then(value.ceil()).otherwise(value.floor())


# Floats.


@dataclass(frozen=True)
class FloatFunction(Kernel):
    """A function of floats; a value outside its domain gives NaN."""

    function: str

    def compute(self, *columns: pl.Series) -> pl.Series:
        nulls = columns[0].is_null()
        for each in columns[1:]:
            nulls = nulls | each.is_null()
        arrays = [each.to_numpy() for each in columns]
        with np.errstate(all="ignore"):
            made = pl.Series(np.asarray(_FLOATS[self.function](*arrays), dtype=np.float64))
        return with_nulls(made, nulls)


def _each(function: Callable[..., float]) -> Callable[..., np.ndarray]:
    """A function of the C library for each value: equal to the last digit to what other programs compute."""

    def compute(*arrays: np.ndarray) -> np.ndarray:
        return np.array([_quiet(function, *row) for row in zip(*arrays, strict=True)], dtype=np.float64)

    return compute


def _quiet(function: Callable[..., float], *values: float) -> float:
    try:
        return function(*values)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.nan


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        odd = exponent == int(exponent) and int(exponent) % 2 == 1
        return -math.inf if base < 0 and odd else math.inf
    except ValueError:
        return math.inf if base == 0 else math.nan


def _log(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda value: -math.inf if value == 0 else function(value)


def _log_of_base(base: float, value: float) -> float:
    return _log(math.log10)(value) / _log(math.log10)(base)


_FLOATS: dict[str, Callable[..., np.ndarray]] = {
    "sqrt": np.sqrt,
    "cbrt": _each(math.cbrt),
    "exp": _each(math.exp),
    "ln": _each(_log(math.log)),
    "log10": _each(_log(math.log10)),
    "log2": _each(_log(math.log2)),
    "sin": _each(math.sin),
    "cos": _each(math.cos),
    "tan": _each(math.tan),
    "cot": _each(lambda x: 1 / math.tan(x) if x else math.copysign(math.inf, x)),
    "asin": _each(math.asin),
    "acos": _each(math.acos),
    "atan": _each(math.atan),
    "atan2": _each(math.atan2),
    "sinh": _each(math.sinh),
    "cosh": _each(math.cosh),
    "tanh": _each(math.tanh),
    "power": _each(_power),
    "degrees": lambda x: x * (180 / math.pi),
    "radians": lambda x: x * (math.pi / 180),
    "gamma": _each(lambda x: math.gamma(x) if x else math.inf),
    "lgamma": _each(lambda x: math.lgamma(x) if x else math.inf),
    "log": _each(_log_of_base),
}


def _float(name: str) -> Callable[[Arguments], pl.Expr]:
    return lambda args: args.run(FloatFunction(args.where, name))


def _define_float(name: str, doc: str, example: str, aliases: tuple[str, ...] = ()) -> None:
    define(name, "DOUBLE", DOUBLE, _float(name), doc, example, aliases=aliases)


# Integers.


@dataclass(frozen=True)
class WholeFunction(GuardedKernel):
    """A function of integers, computed without limits and checked against the type of the result."""

    function: str
    kind: SqlType

    def compute(self, *columns: pl.Series) -> pl.Series:
        values, guard = columns[:-1], columns[-1]
        low, high = limits(self.kind)
        made: list[int | None] = []
        for *row, on in zip(*values, guard, strict=True):
            value = None if any(each is None for each in row) else _WHOLE[self.function](*row)
            if value is not None and not low <= value <= high:
                if on:
                    raise self.fail(f"overflow in {self.function} of {self.kind}; cast to a wider type first")
                value = None
            made.append(value)
        return pl.Series(made, dtype=self.kind.dtype)


def _factorial(n: int) -> int:
    return math.factorial(n) if 0 <= n <= 40 else 2**200


_WHOLE: dict[str, Callable[..., int]] = {
    "gcd": math.gcd,
    "lcm": math.lcm,
    "factorial": _factorial,
    "xor": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b if a >= 0 and 0 <= b < 128 else 2**200,
    ">>": lambda a, b: a >> b if 0 <= b < 128 else 0,
    "bit_count": lambda a, bits: bin(a & (2**bits - 1)).count("1"),
    "abs": abs,
}


def _integers(name: str) -> Callable[[Arguments], pl.Expr]:
    def build(args: Arguments) -> pl.Expr:
        if not args.type.is_integer:
            raise StatementError(f"{name} needs integers, not {args.types[0]}", args.at)
        return args.run(WholeFunction(args.where, name, args.type), *args.exprs, args.guard)

    return build


def _bit_count(args: Arguments) -> pl.Expr:
    width = pl.lit(args.types[0].bits, dtype=pl.Int32)
    return args.run(WholeFunction(args.where, "bit_count", args.type), args[0], width, args.guard)


def _abs(args: Arguments) -> pl.Expr:
    if args.types[0].is_integer:
        return args.run(WholeFunction(args.where, "abs", args.type), args[0], args.guard)
    value = args[0]
    return value.abs() if args.types[0].is_float else pl.when(value < 0).then(-value).otherwise(value)


def _sign(args: Arguments) -> pl.Expr:
    value = args[0]
    if args.types[0].is_float:
        value = value.fill_nan(0.0)
    made = pl.when(value > 0).then(1).when(value < 0).then(-1).when(value.is_not_null()).then(0)
    return made.cast(pl.Int8)


def _extreme(largest: bool) -> Callable[[Arguments], pl.Expr]:
    """NULLs are left out. Not by Polars: it has no such function for texts."""

    def build(args: Arguments) -> pl.Expr:
        made = args[0]
        for each in args.exprs[1:]:
            better = each > made if largest else each < made
            made = pl.when(made.is_null() | better.fill_null(False)).then(each).otherwise(made)
        return made

    return build


define("abs", "NUMBER", _same, _abs, "Without sign.", "abs(-5)", checks=True)
define("sign", "NUMBER", TINYINT, _sign, "-1, 0 or 1.", "sign(-5)")
define("round", "NUMBER", _round_type, _round, "Rounded half away from zero.", "round(2.5)")
define("round", "NUMBER INTEGER", _same, _round, "Rounded to n decimals.", "round(2.345, 2)", refine=_round_places)
define("floor", "NUMBER", _floor_type, _whole("down", lambda value: value.floor()), "Rounded down.", "floor(-2.5)")
define(
    "ceil",
    "NUMBER",
    _floor_type,
    _whole("up", lambda value: value.ceil()),
    "Rounded up.",
    "ceil(-2.5)",
    aliases=("ceiling",),
)
define("trunc", "NUMBER", _round_type, _whole("zero", _truncated), "Rounded towards zero.", "trunc(-2.5)")
define(
    "even",
    "DOUBLE",
    DOUBLE,
    lambda args: args.run(Even(args.where)),
    "Rounded away from zero to an even number.",
    "even(2.1)",
)
_define_float("sqrt", "The square root.", "sqrt(2)")
_define_float("cbrt", "The cube root.", "cbrt(8)")
_define_float("exp", "e to a power.", "exp(1)")
_define_float("ln", "The natural logarithm.", "ln(2)")
_define_float("log10", "The logarithm of base 10.", "log10(100)", ("log",))
_define_float("log2", "The logarithm of base 2.", "log2(8)")
define("log", "DOUBLE DOUBLE", DOUBLE, _float("log"), "The logarithm of a base.", "log(2, 8)")
define(
    "power",
    "DOUBLE DOUBLE",
    DOUBLE,
    _float("power"),
    "A number to a power; also a ** b and a ^ b.",
    "power(2, 10)",
    aliases=("pow",),
)
_define_float("sin", "The sine.", "sin(1)")
_define_float("cos", "The cosine.", "cos(1)")
_define_float("tan", "The tangent.", "tan(1)")
_define_float("cot", "The cotangent.", "cot(1)")
_define_float("asin", "The arc sine.", "asin(0.5)")
_define_float("acos", "The arc cosine.", "acos(0.5)")
_define_float("atan", "The arc tangent.", "atan(0.5)")
define("atan2", "DOUBLE DOUBLE", DOUBLE, _float("atan2"), "The angle of a point y, x.", "atan2(0.5, 0.5)")
_define_float("sinh", "The hyperbolic sine.", "sinh(1)")
_define_float("cosh", "The hyperbolic cosine.", "cosh(1)")
_define_float("tanh", "The hyperbolic tangent.", "tanh(1)")
_define_float("degrees", "Radians as degrees.", "degrees(1)")
_define_float("radians", "Degrees as radians.", "radians(180)")
_define_float("gamma", "The gamma function.", "gamma(5)")
_define_float("lgamma", "The logarithm of the gamma function.", "lgamma(5)")
define("pi", "", DOUBLE, lambda args: pl.lit(math.pi), "The number pi.", "pi()")
for _kind in (BIGINT, HUGEINT):
    define(
        "gcd",
        f"{_kind} {_kind}",
        _kind,
        _integers("gcd"),
        "The greatest common divisor.",
        "gcd(12, 18)",
        aliases=("greatest_common_divisor",),
    )
    define(
        "lcm",
        f"{_kind} {_kind}",
        _kind,
        _integers("lcm"),
        "The least common multiple.",
        "lcm(4, 6)",
        aliases=("least_common_multiple",),
        checks=True,
    )
define("factorial", "INTEGER", HUGEINT, _integers("factorial"), "The factorial.", "factorial(10)", checks=True)
define("xor", "SAME SAME", _same, _integers("xor"), "The bits in which two integers differ.", "xor(5, 3)")
define("<<", "SAME SAME", _same, _integers("<<"), "Bits shifted to the left.", "1 << 4", checks=True)
define(">>", "SAME SAME", _same, _integers(">>"), "Bits shifted to the right.", "16 >> 2")
define("bit_count", "INTEGRAL", TINYINT, _bit_count, "The number of bits that are set.", "bit_count(31)")
define(
    "isnan",
    "DOUBLE",
    BOOLEAN,
    lambda args: args[0].is_nan(),
    "Whether a float is not a number.",
    "isnan('nan'::DOUBLE)",
)
define(
    "isinf",
    "DOUBLE",
    BOOLEAN,
    lambda args: args[0].is_infinite(),
    "Whether a float is infinite.",
    "isinf('inf'::DOUBLE)",
)
define(
    "isfinite",
    "DOUBLE",
    BOOLEAN,
    lambda args: args[0].is_finite(),
    "Whether a float is finite.",
    "isfinite(1.5::DOUBLE)",
)
define("mod", "SAME SAME", _same, lambda args: _remainder(args), "The remainder; also a % b.", "mod(7, 3)", checks=True)
define("add", "DOUBLE DOUBLE", DOUBLE, lambda args: args[0] + args[1], "The sum of two floats.", "add(1.5::DOUBLE, 2)")
define(
    "subtract",
    "DOUBLE DOUBLE",
    DOUBLE,
    lambda args: args[0] - args[1],
    "The difference of two floats.",
    "subtract(1.5::DOUBLE, 2)",
)
define(
    "multiply",
    "DOUBLE DOUBLE",
    DOUBLE,
    lambda args: args[0] * args[1],
    "The product of two floats.",
    "multiply(1.5::DOUBLE, 2)",
)
define("greatest", "SAME*", _same, _extreme(True), "The largest of several values, without NULLs.", "greatest(1, 3, 2)")
define("least", "SAME*", _same, _extreme(False), "The smallest of several values, without NULLs.", "least(3, 1, 2)")
define(
    "nextafter",
    "DOUBLE DOUBLE",
    DOUBLE,
    lambda args: args.run(NextAfter(args.where)),
    "The next float in a direction.",
    "nextafter(1::DOUBLE, 2::DOUBLE)",
)
define(
    "to_base",
    "BIGINT INTEGER",
    VARCHAR,
    lambda args: args.run(ToBase(args.where), *args.exprs, args.guard),
    "An integer from 0 in a base from 2 to 36.",
    "to_base(42, 16)",
    checks=True,
)
define(
    "bin",
    "BIGINT",
    VARCHAR,
    lambda args: args.run(Binary(args.where)),
    "An integer in binary.",
    "bin(10)",
    aliases=("to_binary",),
)


@dataclass(frozen=True)
class Even(Kernel):
    def compute(self, *columns: pl.Series) -> pl.Series:
        made = [None if x is None else _even(x) for x in columns[0]]
        return pl.Series(made, dtype=pl.Float64)


def _even(value: float) -> float:
    if not math.isfinite(value):
        return value
    return math.copysign(math.ceil(abs(value) / 2) * 2, value)


@dataclass(frozen=True)
class NextAfter(Kernel):
    def compute(self, *columns: pl.Series) -> pl.Series:
        a, b = columns
        return with_nulls(pl.Series(np.nextafter(a.to_numpy(), b.to_numpy())), a.is_null() | b.is_null())


@dataclass(frozen=True)
class ToBase(GuardedKernel):
    def compute(self, *columns: pl.Series) -> pl.Series:
        return pl.Series([self._text(*row) for row in zip(*columns, strict=True)], dtype=pl.String)

    def _text(self, number: int | None, base: int | None, on: bool) -> str | None:
        if number is None or base is None:
            return None
        if number < 0 or not 2 <= base <= 36:
            if on:
                raise self.fail(f"to_base({number}, {base}): the number must be at least 0, the base from 2 to 36")
            return None
        return _in_base(number, base)


@dataclass(frozen=True)
class Binary(Kernel):
    """The 64 bits of an integer, without zeros before the first one."""

    def compute(self, *columns: pl.Series) -> pl.Series:
        return pl.Series([None if n is None else _in_base(n % 2**64, 2) for n in columns[0]], dtype=pl.String)


def _in_base(number: int, base: int) -> str:
    digits = ""
    while number:
        number, rest = divmod(number, base)
        digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[rest] + digits
    return digits or "0"


def _remainder(args: Arguments) -> pl.Expr:
    if args.types[0].is_float:
        return args.run(FloatModulo(args.where))
    if not args.types[0].is_number:
        raise StatementError(f"mod needs numbers, not {args.types[0]}", args.at)
    return args.run(Checked(args.where, "modulo", args.type), args[0], args[1], args.guard)
