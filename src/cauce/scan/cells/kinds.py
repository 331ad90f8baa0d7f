"""The kinds of cells that a table can declare: the accepted text and the Polars type of each.

A kind only decides whether a cell can be read, never how a query uses its value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import polars as pl

from cauce.errors import PlanError
from cauce.scan.cells.time_formats import TimeFormat

DECIMAL_SCALE = 18
"""Digits kept after the point in a ``Decimal`` cell; a cell with more non-zero ones is a reject."""

DECIMAL = pl.Decimal(38, DECIMAL_SCALE)


@dataclass(frozen=True)
class Kind:
    """A way to parse a cell. ``reason`` is the text in the rejects table for a cell that does not parse.

    ``holds_quotes``: a quote may be part of a valid cell, so doubled quotes are unescaped before parsing.
    """

    holds_quotes: ClassVar[bool] = False

    @property
    def dtype(self) -> pl.DataType:
        """The Polars type of the column."""
        raise NotImplementedError

    @property
    def reason(self) -> str:
        raise NotImplementedError


@dataclass(frozen=True)
class Text(Kind):
    """Any text, unchanged. Never rejected: bytes that are not UTF-8 become U+FFFD."""

    dtype = pl.String()
    reason = "not text"


@dataclass(frozen=True)
class Integer(Kind):
    """A sign and digits, within 64 bits."""

    dtype = pl.Int64()
    reason = "not an integer"


@dataclass(frozen=True)
class Identifier(Kind):
    """An integer, or an integer written as a float: ``17272.0`` is ``17272``."""

    dtype = pl.Int64()
    reason = "not an integer id"


@dataclass(frozen=True)
class Decimal(Kind):
    """An exact number: sign, up to 17 digits, point, up to 18 digits. With ``places``, a number with at most that many
    decimals, and 18 digits in all."""

    places: int | None = None

    @property
    def dtype(self) -> pl.DataType:
        return DECIMAL if self.places is None else pl.Decimal(38, self.places)

    @property
    def reason(self) -> str:
        return "not a number" if self.places is None else f"not a number with at most {self.places} decimals"


@dataclass(frozen=True)
class Fixed(Kind):
    """A number with at most ``places`` decimals, read as an integer in units of the last decimal (cents)."""

    places: int = 2
    dtype = pl.Int64()
    reason = "not a number with that many decimals"


@dataclass(frozen=True)
class Float(Kind):
    """A number as the nearest float64. For measurements; use ``Decimal`` for money and counts. With ``scientific``, it
    may have an exponent (``1.5e-3``), or be ``inf`` or ``nan``."""

    scientific: bool = False
    dtype = pl.Float64()
    reason = "not a number"


@dataclass(frozen=True)
class Boolean(Kind):
    """``true``/``false``, ``t``/``f``, ``yes``/``no``, ``y``/``n`` or ``1``/``0``, in any case."""

    dtype = pl.Boolean()
    reason = "not a boolean (true/false, yes/no, 1/0)"


class _Formatted(Kind):
    """A kind with an optional ``format``."""

    format: str | None

    @cached_property
    def parsed_format(self) -> TimeFormat | None:
        return None if self.format is None else TimeFormat(self.format)


@dataclass(frozen=True)
class Date(_Formatted):
    """``YYYY-MM-DD``, or a date in the given ``format``: an existing day, years 0001 to 9999."""

    format: str | None = None
    dtype = pl.Date()

    def __post_init__(self) -> None:
        if self.parsed_format is not None and self.parsed_format.has_time:
            raise PlanError(f"Date(format={self.format!r}): a date has no time of day; use Timestamp(format=...)")

    @property
    def reason(self) -> str:
        return f"not a date ({'YYYY-MM-DD' if self.parsed_format is None else self.parsed_format.shown})"


@dataclass(frozen=True)
class Timestamp(_Formatted):
    """A date and time of day without a time zone: ISO 8601, or in the given ``format``.

    A time with an offset (``Z``, ``+02:00``) is rejected: use ``ZonedTimestamp`` for those.
    """

    format: str | None = None
    dtype = pl.Datetime("us")

    def __post_init__(self) -> None:
        if self.parsed_format is not None and self.parsed_format.has_offset:
            raise PlanError(f"Timestamp(format={self.format!r}): %z needs ZonedTimestamp(format=...)")

    @property
    def reason(self) -> str:
        return f"not a time ({'YYYY-MM-DD HH:MM[:SS[.f]]' if self.parsed_format is None else self.parsed_format.shown})"


@dataclass(frozen=True)
class Time(Kind):
    """A time of day: ``HH:MM``, ``HH:MM:SS`` or ``HH:MM:SS.f``, in microseconds."""

    dtype = pl.Time()
    reason = "not a time of day (HH:MM[:SS[.f]])"


@dataclass(frozen=True)
class ZonedTimestamp(_Formatted):
    """A moment: ISO 8601 (or ``format``) with ``Z`` or an offset, converted to UTC.

    A time without an offset is a local time in ``zone``. It is rejected if there is no ``zone``, or if the zone's
    clocks skip or repeat it.
    """

    zone: str | None = None
    format: str | None = None
    dtype = pl.Datetime("us", "UTC")

    def __post_init__(self) -> None:
        if self.zone is not None:
            _check_zone(self.zone)
        if self.parsed_format is not None and not self.parsed_format.has_offset and self.zone is None:
            raise PlanError(
                f"ZonedTimestamp(format={self.format!r}): add %z to the format, or give the zone of the times: zone=..."
            )

    @property
    def reason(self) -> str:
        if self.parsed_format is not None:
            return f"not a time ({self.parsed_format.shown})"
        return "not a time with an offset (YYYY-MM-DDTHH:MM[:SS[.f]]Z)"


def _check_zone(zone: str) -> None:
    try:
        pl.Series([0]).cast(pl.Datetime("us")).dt.replace_time_zone(zone)
    except pl.exceptions.PolarsError:
        raise PlanError(
            f"ZonedTimestamp(zone={zone!r}): unknown time zone; expected a name such as America/Argentina/Buenos_Aires"
        ) from None


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
    holds_quotes = True


@dataclass(frozen=True)
class FieldList(Kind):
    """A Python list literal of dicts, of which the text under ``field`` is kept: ``[{'name': 'Drama'}]``."""

    field: str = "name"
    dtype = pl.List(pl.String())
    reason = "not a list of entries with that field"
    holds_quotes = True


@dataclass(frozen=True)
class Json(Kind):
    """Valid JSON. With a ``path`` such as ``customer.address.city`` or ``items[0].price``, the value there, read as
    a cell of ``kind``; null if the path does not exist."""

    path: str = ""
    kind: Kind = field(default_factory=Text)
    holds_quotes = True

    def __post_init__(self) -> None:
        if isinstance(self.kind, Json):
            raise PlanError("Json(kind=Json(...)): give one path instead of two")
        if not self.path and not isinstance(self.kind, Text):
            raise PlanError(f"Json(kind={self.kind}) needs a path to the value")
        self.steps  # noqa: B018  (checks the path)

    @cached_property
    def steps(self) -> tuple[str | int, ...]:
        """The path as keys of objects and indexes of arrays."""
        return json_path(self.path)

    @property
    def dtype(self) -> pl.DataType:
        return self.kind.dtype

    @property
    def reason(self) -> str:
        return "not valid JSON"


_PATH_STEP = re.compile(r"\.?([^.\[\]]+)|\[([0-9]{1,9})\]")


def json_path(path: str) -> tuple[str | int, ...]:
    steps: list[str | int] = []
    at = 0
    while at < len(path):
        step = _PATH_STEP.match(path, at)
        if step is None or (step[1] is not None and (at == 0) == path.startswith(".", at)):
            raise PlanError(f"Json({path!r}): a path looks like customer.address.city or items[0].price")
        steps.append(int(step[2]) if step[1] is None else step[1])
        at = step.end()
    return tuple(steps)
