"""The kinds of cell a table can declare: what text they accept and which Polars type they become.

A kind never decides what a query does with a value; it only says whether a cell can be read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

DECIMAL_SCALE = 18
"""Digits kept after the point in a ``Decimal`` cell; a cell with more non-zero ones is a reject."""

DECIMAL = pl.Decimal(38, DECIMAL_SCALE)


@dataclass(frozen=True)
class Kind:
    """A way to read a cell. ``reason`` is what the rejects table says when a cell does not fit."""

    dtype: ClassVar[pl.DataType]
    reason: ClassVar[str]


@dataclass(frozen=True)
class Text(Kind):
    """Any text as it stands. Never a reject: bytes that are not UTF-8 become U+FFFD."""

    dtype = pl.String()
    reason = "not text"


@dataclass(frozen=True)
class Integer(Kind):
    """A sign and digits, within 64 bits."""

    dtype = pl.Int64()
    reason = "not an integer"


@dataclass(frozen=True)
class Identifier(Kind):
    """An integer, or one that looks like a float: ``17272.0`` is ``17272``."""

    dtype = pl.Int64()
    reason = "not an integer id"


@dataclass(frozen=True)
class Decimal(Kind):
    """An exact number: sign, up to 17 digits, point, up to 18 digits."""

    dtype = DECIMAL
    reason = "not a number"


@dataclass(frozen=True)
class Fixed(Kind):
    """A number with at most ``places`` decimals, read as a whole count of its last place (cents)."""

    places: int = 2
    dtype = pl.Int64()
    reason = "not a number with that many decimals"


@dataclass(frozen=True)
class Float(Kind):
    """A number as the nearest float64 (for measurements; money and counts want ``Decimal``)."""

    dtype = pl.Float64()
    reason = "not a number"


@dataclass(frozen=True)
class Date(Kind):
    """``YYYY-MM-DD``, a day that exists."""

    dtype = pl.Date()
    reason = "not a date (YYYY-MM-DD)"


@dataclass(frozen=True)
class Timestamp(Kind):
    """``YYYY-MM-DD HH:MM:SS``, a second that exists."""

    dtype = pl.Datetime("us")
    reason = "not a time (YYYY-MM-DD HH:MM:SS)"


@dataclass(frozen=True)
class Duration(Kind):
    """ISO 8601 ``P[nD][T[nH][nM]]`` with at least one number, read as whole minutes."""

    dtype = pl.Int64()
    reason = "not a duration (P[nD][T[nH][nM]])"


@dataclass(frozen=True)
class TextList(Kind):
    """A Python list literal of strings: ``['Science fiction, American', "O'Brien"]``."""

    dtype = pl.List(pl.String())
    reason = "not a list of texts"


@dataclass(frozen=True)
class FieldList(Kind):
    """A Python list literal of dicts, of which the text under ``field`` is kept: ``[{'name': 'Drama'}]``."""

    field: str = "name"
    dtype = pl.List(pl.String())
    reason = "not a list of entries with that field"
