"""Explains rejected cells: the exact reason, and a declaration that would accept the cell.

It only sees cells that are already rejected; it never decides whether to reject one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import cache

import polars as pl

from cauce.scan.cells.decode import parse_series
from cauce.scan.cells.kinds import (
    Boolean,
    Date,
    Decimal,
    Duration,
    Identifier,
    Integer,
    Json,
    Kind,
    Text,
    TextList,
    Timestamp,
    ZonedTimestamp,
)

HAS_OFFSET = "a time with an offset"
HAS_NO_OFFSET = "a time without an offset"

_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %-I:%M %p", " %-I:%M:%S %p")
_DAYS = ("%Y/%m/%d", "%-d/%-m/%Y", "%-m/%-d/%Y", "%-d.%-m.%Y", "%-d-%-m-%Y", "%-d-%b-%Y", "%Y%m%d")
_FORMATS = [day + clock for day in _DAYS for clock in _CLOCKS] + ["%Y%m%dT%H%M%S"]
_OTHERS: tuple[Kind, ...] = (Integer(), Identifier(), Decimal(), Boolean(), Duration(), TextList(), Json())


@cache
def _times() -> tuple[Kind, ...]:
    return (
        Date(),
        Timestamp(),
        ZonedTimestamp(),
        *(Timestamp(each) if "%H" in each or "%-I" in each else Date(each) for each in _FORMATS),
        ZonedTimestamp(format="%Y%m%dT%H%M%S%z"),
    )


def reasons(kind: Kind, raws: Sequence[str]) -> list[str]:
    """The reason for each of these rejected cells."""
    general = [kind.reason] * len(raws)
    other: Kind
    match kind:
        case Timestamp():
            other, better = ZonedTimestamp(), HAS_OFFSET
        case ZonedTimestamp(zone=None):
            other, better = Timestamp(), HAS_NO_OFFSET
        case ZonedTimestamp(zone=zone):
            other, better = Timestamp(kind.format), f"a time that the clocks of {zone} skip or show twice"
            if kind.parsed_format is not None and kind.parsed_format.has_offset:
                return general
        case Json(kind=inner) if not isinstance(inner, Text):
            other, better = Json(), f"{inner.reason}, at {kind.path}"
        case _:
            return general
    bad = parse_series(other, pl.Series(list(raws), dtype=pl.String)).bad
    return [reason if unread else better for reason, unread in zip(general, bad, strict=True)]


def remedy(kind: Kind, raw: str) -> str:
    """One sentence on how to declare a column with cells like this rejected one; empty if no remedy is known."""
    if isinstance(kind, Text):
        return "write the column as texts, or declare it as TextList(), FieldList() or Json()"
    if isinstance(kind, Timestamp) and _reads(ZonedTimestamp(), raw):
        return "declare it as ZonedTimestamp(), which gives moments in UTC"
    if isinstance(kind, ZonedTimestamp) and kind.zone is None and _reads(Timestamp(), raw):
        return 'declare it as ZonedTimestamp("Area/City") with the zone of these times, or as Timestamp()'
    if isinstance(kind, Json) and not isinstance(kind.kind, Text):
        return f"declare it as Json({kind.path!r}), which gives texts" if _reads(Json(), raw) else ""
    families = (_times(), _OTHERS) if isinstance(kind, Date | Timestamp | ZonedTimestamp) else (_OTHERS, _times())
    for family in families:
        found = [declaration(each) for each in family if type(each) is not Text and each != kind and _reads(each, raw)]
        if found:
            return "declare it as " + " or ".join(found[: 2 if "format" in found[0] else 1])
    return "correct the cells, or declare it as Text()"


def declaration(kind: Kind) -> str:
    """The kind as a dataset file declares it."""
    given = {each.name: getattr(kind, each.name) for each in fields(kind)}
    defaults = {each.name: each.default for each in fields(kind)}
    shown = [
        f'{name}="{value}"' if isinstance(value, str) else f"{name}={value!r}"
        for name, value in given.items()
        if value != defaults[name] and not isinstance(value, Text)
    ]
    return f"{type(kind).__name__}({', '.join(shown)})"


def _reads(kind: Kind, raw: str) -> bool:
    return not parse_series(kind, pl.Series([raw], dtype=pl.String)).bad.any()
