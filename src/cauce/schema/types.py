"""The types of columns as texts (`decimal(18,2)`), with the engine's kind of each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from cauce.errors import UsageError, did_you_mean
from cauce.scan.cells.kinds import Boolean, Date, Decimal, Float, Integer, Json, Kind, Text, Time, Timestamp
from cauce.scan.cells.kinds import ZonedTimestamp as Moment

MOST_DIGITS = 18
"""Digits of a decimal with a given number of decimals: as many as fit into 64 bits."""

TYPES: dict[str, Kind] = {
    "integer": Integer(),
    "decimal": Decimal(),
    "float": Float(scientific=True),
    "boolean": Boolean(),
    "date": Date(),
    "timestamp": Timestamp(),
    "timestamptz": Moment(),
    "time": Time(),
    "text": Text(),
    "json": Json(),
}

_SYNONYMS = {
    "integer": "int int2 int4 int8 int16 int32 int64 tinyint smallint mediumint bigint long short signed",
    "decimal": "numeric dec number",
    "float": "double real float4 float8 float32 float64 double_precision",
    "boolean": "bool logical",
    "timestamp": "datetime timestamp_without_time_zone",
    "timestamptz": "timestamp_with_time_zone",
    "time": "time_without_time_zone",
    "text": "varchar string char bpchar str nvarchar",
}
_NAMES = {name: name for name in TYPES} | {each: name for name, all_ in _SYNONYMS.items() for each in all_.split()}
_TEXT = re.compile(r"\s*([a-z_][a-z0-9_ ]*?)\s*(?:\(\s*([0-9]{1,3})\s*(?:,\s*([0-9]{1,3})\s*)?\))?\s*", re.IGNORECASE)


@dataclass(frozen=True)
class ColumnType:
    """A type by name. `scale` is the number of decimals of a decimal with 18 digits; None if it has up to 18 of them
    and 17 digits before the point."""

    name: str
    scale: int | None = None

    @property
    def kind(self) -> Kind:
        return TYPES[self.name] if self.scale is None else Decimal(self.scale)

    def __str__(self) -> str:
        return self.name if self.scale is None else f"{self.name}({MOST_DIGITS},{self.scale})"


def column_type(text: str) -> ColumnType:
    """The type that a text names, in our words or those of SQL. Raises UsageError."""
    found = _TEXT.fullmatch(text)
    word = "_".join(found[1].lower().split()) if found else text
    name = _NAMES.get(word)
    if found is None or name is None:
        known = ", ".join(TYPES)
        raise UsageError(f"unknown type {text!r}; expected one of {known}{did_you_mean(word, _NAMES)}")
    if found[2] is None or name == "text":
        return ColumnType(name)
    if name != "decimal":
        raise UsageError(f"type {text!r}: only decimal has a number of digits; write {name}")
    return _decimal(text, int(found[2]), int(found[3] or 0))


def _decimal(text: str, digits: int, scale: int) -> ColumnType:
    if not 1 <= digits <= 38 or scale > digits:
        raise UsageError(f"type {text!r}: a decimal has 1 to 38 digits, and at most as many decimals")
    return ColumnType("decimal", scale if digits <= MOST_DIGITS else None)


def common_type(types: Iterable[ColumnType]) -> ColumnType:
    """The type that reads the cells of all of these; text if there is none. At least one is given."""
    first, *others = dict.fromkeys(types)
    for other in others:
        first = _common(first, other)
    return first


def _common(one: ColumnType, other: ColumnType) -> ColumnType:
    names = {one.name, other.name}
    if names == {"decimal"}:
        scales = [one.scale, other.scale]
        return ColumnType("decimal", None if None in scales else max(scale or 0 for scale in scales))
    if names == {"integer", "decimal"}:
        return one if one.name == "decimal" else other
    if "float" in names and names <= {"integer", "decimal", "float"}:
        return ColumnType("float")
    return ColumnType("timestamp") if names == {"date", "timestamp"} else one if one == other else ColumnType("text")
