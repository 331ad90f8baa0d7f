"""Decides the type of a column from the texts of its cells. A type is chosen only if it reads all of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from cauce.scan.cells.decode import parse_series
from cauce.scan.cells.kinds import Decimal, Kind
from cauce.schema.types import TYPES, ColumnType

NULL_TEXTS = ("NULL", "null", "Null", "\\N", "NA", "N/A", "n/a", "#N/A", "<NA>", "None")
"""Texts for an empty cell, in columns whose other cells are not text."""

BOOLEAN_WORDS = ("true", "false", "t", "f", "yes", "no")
MOST_SCALE = 4
"""More decimals are those of measurements, of which the next cell may have one more: their number is not fixed."""
MOST_EQUAL_SCALE = 9
"""The same if all cells have equally many."""

_DIGIT = "[0-9]"
_WHOLE = r"-?(?:0|[1-9][0-9]*)"
_NUMBER = rf"(?:{_WHOLE}(?:\.[0-9]*)?|-?\.[0-9]+)"
_INTEGER = rf"^{_WHOLE}$"
_DECIMAL = rf"^{_NUMBER}$"
_FLOAT = rf"^(?:{_NUMBER}(?:[eE][+-]?[0-9]+)?|[+-]?(?i:inf|infinity|nan))$"
_TIMES = ("date", "timestamp", "timestamptz", "time")
_FEW = 50
_FEW_EXCEPTIONS = 0.1


def different(cells: pl.Series) -> pl.Series:
    """The different values of a column, in order, without empty cells."""
    return cells.drop_nulls().unique(maintain_order=True)


def type_of_texts(cells: pl.Series) -> tuple[ColumnType, tuple[str, ...]]:
    """The type of a column of CSV, and the texts that mark its empty cells. Empty cells are null in `cells`."""
    return type_of_values(different(cells))


def type_of_values(values: pl.Series) -> tuple[ColumnType, tuple[str, ...]]:
    """As `type_of_texts`, from the different values of the column."""
    null = values.is_in(NULL_TEXTS)
    others = values.filter(~null)
    if others.is_empty():
        return ColumnType("text"), ()
    found = _boolean(others) or type_of_numbers(others) or type_of_times(others)
    return (found, tuple(sorted(values.filter(null)))) if found else (ColumnType("text"), ())


def type_of_numbers(values: pl.Series) -> ColumnType | None:
    """The type of numbers as texts; None if one of the texts is not a number. Codes with leading zeros are none."""
    if _match(values, _INTEGER):
        # A longer number is an identifier, or needs more digits than any type has: only its text is exact.
        return ColumnType("integer") if _reads(TYPES["integer"], values) else None
    if _match(values, _DECIMAL):
        scales = values.str.extract(r"\.([0-9]*)$").str.len_bytes().fill_null(0).unique().to_list()
        most = MOST_EQUAL_SCALE if len(scales) == 1 else MOST_SCALE
        if max(scales) <= most and _reads(Decimal(max(scales)), values):
            return ColumnType("decimal", max(scales))
        return ColumnType("decimal" if _reads(TYPES["decimal"], values) else "float")
    has_digit = bool(values.str.contains(_DIGIT).any())
    return ColumnType("float") if has_digit and _match(values, _FLOAT) and _reads(TYPES["float"], values) else None


def type_of_times(values: pl.Series) -> ColumnType | None:
    """The type of dates and times as texts; None if one of the texts is neither."""
    if not all(re.search(_DIGIT, each) for each in values.head(_FEW).to_list()):
        return None
    return next((ColumnType(name) for name in _TIMES if _reads(TYPES[name], values)), None)


@dataclass(frozen=True)
class Exceptions:
    """The few values of a text column that keep it from having another type."""

    type: ColumnType
    example: str
    count: int
    values: int


def type_of_most(values: pl.Series) -> Exceptions | None:
    """The type that reads most of the different values of a text column; None if there is none."""
    if len(values) - values.str.contains(_DIGIT).sum() > len(values) * _FEW_EXCEPTIONS:
        # None of the types below has a value without a digit.
        return None
    plain = values.str.contains(_DECIMAL)
    best: Exceptions | None = None
    for name in ("integer", "decimal", *_TIMES):
        bad = pl.Series(parse_series(TYPES[name], values).bad)
        if name in ("integer", "decimal"):
            bad |= ~plain
        count = int(bad.sum())
        if count <= len(values) * _FEW_EXCEPTIONS and (best is None or count < best.count):
            # With the number of decimals that the other values have.
            kind = (type_of_numbers(values.filter(~bad)) if name == "decimal" else None) or ColumnType(name)
            best = Exceptions(kind, str(values.filter(bad)[0]), count, len(values))
    return best


def _boolean(values: pl.Series) -> ColumnType | None:
    few = len(values) <= 3 * len(BOOLEAN_WORDS)
    return ColumnType("boolean") if few and values.str.to_lowercase().is_in(BOOLEAN_WORDS).all() else None


def _match(values: pl.Series, pattern: str) -> bool:
    """Most columns that do not match show it in their first values, which Python compares faster than Polars."""
    first = all(re.fullmatch(pattern, each) for each in values.head(_FEW).to_list())
    return first and (len(values) <= _FEW or bool(values.str.contains(pattern).all()))


def _reads(kind: Kind, values: pl.Series) -> bool:
    return not any(parse_series(kind, each).bad.any() for each in (values.head(_FEW), values))
