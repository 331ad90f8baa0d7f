"""SQL types: their names, the Polars type that holds their values, and the rules that combine two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

MOST_DIGITS = 38


@dataclass(frozen=True)
class SqlType:
    """A type by name. `precision` and `scale` belong to DECIMAL, `element` to LIST."""

    name: str
    precision: int = 0
    scale: int = 0
    element: SqlType | None = None

    DTYPES: ClassVar[dict[str, pl.DataType]] = {
        "NULL": pl.Null(),
        "BOOLEAN": pl.Boolean(),
        "TINYINT": pl.Int8(),
        "SMALLINT": pl.Int16(),
        "INTEGER": pl.Int32(),
        "BIGINT": pl.Int64(),
        "HUGEINT": pl.Int128(),
        "FLOAT": pl.Float32(),
        "DOUBLE": pl.Float64(),
        "VARCHAR": pl.String(),
        "DATE": pl.Date(),
        "TIME": pl.Time(),
        "TIMESTAMP": pl.Datetime("us"),
        "TIMESTAMPTZ": pl.Datetime("us", "UTC"),
        "INTERVAL": pl.Struct({"months": pl.Int64(), "days": pl.Int64(), "micros": pl.Int64()}),
    }

    @property
    def dtype(self) -> pl.DataType:
        """The Polars type of a column of this type."""
        if self.name == "DECIMAL":
            return pl.Decimal(MOST_DIGITS, self.scale)
        if self.element is not None:
            return pl.List(self.element.dtype)
        return self.DTYPES[self.name]

    @property
    def is_integer(self) -> bool:
        return self.name in INTEGERS

    @property
    def is_number(self) -> bool:
        return self.name in NUMBERS

    @property
    def is_float(self) -> bool:
        return self.name in ("FLOAT", "DOUBLE")

    @property
    def is_time(self) -> bool:
        return self.name in ("DATE", "TIMESTAMP", "TIMESTAMPTZ")

    @property
    def bits(self) -> int:
        return _BITS[self.name]

    def __str__(self) -> str:
        if self.name == "DECIMAL":
            return f"DECIMAL({self.precision},{self.scale})"
        return f"{self.element}[]" if self.element is not None else self.name


_BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 128}
INTEGERS = tuple(_BITS)
NUMBERS = (*INTEGERS, "DECIMAL", "FLOAT", "DOUBLE")

NULL = SqlType("NULL")
BOOLEAN = SqlType("BOOLEAN")
TINYINT = SqlType("TINYINT")
SMALLINT = SqlType("SMALLINT")
INTEGER = SqlType("INTEGER")
BIGINT = SqlType("BIGINT")
HUGEINT = SqlType("HUGEINT")
FLOAT = SqlType("FLOAT")
DOUBLE = SqlType("DOUBLE")
VARCHAR = SqlType("VARCHAR")
DATE = SqlType("DATE")
TIME = SqlType("TIME")
TIMESTAMP = SqlType("TIMESTAMP")
TIMESTAMPTZ = SqlType("TIMESTAMPTZ")
INTERVAL = SqlType("INTERVAL")


def decimal(precision: int, scale: int) -> SqlType:
    return SqlType("DECIMAL", precision, scale)


def list_of(element: SqlType) -> SqlType:
    return SqlType("LIST", element=element)


_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INTEGER": 10, "BIGINT": 19, "HUGEINT": 38}


def as_decimal(kind: SqlType) -> SqlType:
    """The decimal that holds every value of an integer type."""
    return decimal(_DIGITS[kind.name], 0) if kind.is_integer else kind


def integer_of(value: int) -> SqlType:
    """The type of an integer literal."""
    for kind in (INTEGER, BIGINT, HUGEINT):
        if -(2 ** (kind.bits - 1)) <= value < 2 ** (kind.bits - 1):
            return kind
    return DOUBLE


def common(one: SqlType, other: SqlType) -> SqlType | None:
    """The type to which both convert without an explicit cast; None if they have none in common."""
    if one == other or other == NULL:
        return one
    if one == NULL:
        return other
    if one.is_number and other.is_number:
        return _common_number(one, other)
    if one.element is not None and other.element is not None:
        element = common(one.element, other.element)
        return None if element is None else list_of(element)
    if one.is_time and other.is_time:
        return max(one, other, key=lambda kind: ("DATE", "TIMESTAMP", "TIMESTAMPTZ").index(kind.name))
    return None


def _common_number(one: SqlType, other: SqlType) -> SqlType:
    if one.is_float or other.is_float:
        return DOUBLE if DOUBLE in (one, other) else FLOAT
    if one.is_integer and other.is_integer:
        return max(one, other, key=lambda kind: kind.bits)
    left, right = as_decimal(one), as_decimal(other)
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return decimal(min(whole + scale, MOST_DIGITS), scale)


_WIDENING = {
    "TINYINT": ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "DECIMAL", "FLOAT", "DOUBLE"),
    "SMALLINT": ("SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "DECIMAL", "FLOAT", "DOUBLE"),
    "INTEGER": ("INTEGER", "BIGINT", "HUGEINT", "DECIMAL", "DOUBLE", "FLOAT"),
    "BIGINT": ("BIGINT", "HUGEINT", "DECIMAL", "DOUBLE", "FLOAT"),
    "HUGEINT": ("HUGEINT", "DOUBLE"),
    "DECIMAL": ("DECIMAL", "DOUBLE", "FLOAT"),
    "FLOAT": ("FLOAT", "DOUBLE"),
    "DOUBLE": ("DOUBLE",),
    "DATE": ("DATE", "TIMESTAMP", "TIMESTAMPTZ"),
    "TIMESTAMP": ("TIMESTAMP", "TIMESTAMPTZ"),
}


def conversion_cost(given: SqlType, wanted: str) -> int | None:
    """How far an argument is from a parameter of this type name; None if it needs an explicit cast."""
    if wanted in ("ANY", given.name):
        return 0
    if given == NULL:
        return 1
    if wanted == "NUMBER":
        return 0 if given.is_number else None
    if wanted == "INTEGRAL":
        return 0 if given.is_integer else None
    widening = _WIDENING.get(given.name, ())
    return widening.index(wanted) + 1 if wanted in widening else None
