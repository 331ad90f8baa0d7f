"""Which chart an answer could be drawn as: a pure function of the names and types of its columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

import msgspec
import polars as pl

from cauce.plan.outputs import Output

_IDENTIFIER = re.compile(r"(^|.*_)(id|key|code|uuid)$")
_PERIOD = re.compile(r"(^|.*_)(month|year|year_month|date|day|week|quarter|semester|half|period)$")
_LATITUDE = re.compile(r"(^|.*_)(lat|latitude)$")
_LONGITUDE = re.compile(r"(^|.*_)(lon|lng|long|longitude)$")


class Chart(msgspec.Struct, frozen=True):
    """`labels` name a row, `values` are the numbers that may be drawn. A line goes along `x`, one for each `series`;
    a scatter has `x` and `y`."""

    kind: Literal["bars", "line", "scatter"]
    labels: list[str]
    values: list[str]
    x: str | None = None
    y: str | None = None
    series: str | None = None


def chart_of(columns: Mapping[str, Output]) -> Chart | None:
    """The best chart for an answer; None if only a table makes sense."""
    latitude = _first(columns, _LATITUDE)
    longitude = _first(columns, _LONGITUDE)
    numbers = [name for name, output in columns.items() if _is_number(output) and not _names_something(name)]
    texts = [name for name, output in columns.items() if output.dtype == pl.String]
    flags = [name for name, output in columns.items() if output.dtype == pl.Boolean]
    if latitude is not None and longitude is not None:
        return Chart("scatter", texts, [], longitude, latitude)
    if not numbers:
        return None
    labels = _labels(columns, texts)
    period = _period({name: columns[name] for name in columns if name not in numbers}, not labels)
    if period is not None:
        others = [name for name in texts if name != period]
        series = next(iter([*others, *flags]), None)
        return Chart("line", others, numbers, period, None, series)
    return Chart("bars", labels, numbers) if labels else None


def _period(columns: Mapping[str, Output], unlabelled: bool) -> str | None:
    """The column along which a line goes: one named after a period, or the first column if it has dates. If nothing
    else labels the rows, also numbers such as years, and any date or time."""
    named = _first({name: output for name, output in columns.items() if unlabelled or not _is_number(output)}, _PERIOD)
    first = next(iter(columns), None)
    times = (name for name, output in columns.items() if (unlabelled or name == first) and output.dtype.is_temporal())
    return named or next(times, None)


def _labels(columns: Mapping[str, Output], texts: list[str]) -> list[str]:
    """Columns that label a row. Identifiers distinguish rows, but alone they make no useful label."""
    named = [name for name in texts if not _is_identifier(name)]
    numbered = [name for name, output in columns.items() if _is_identifier(name) and _is_number(output)]
    return [*named, *numbered] if named else []


def _is_identifier(name: str) -> bool:
    return _IDENTIFIER.match(name) is not None


def _names_something(name: str) -> bool:
    """Whether it is an identifier or a period, such as a year: a number that is not a quantity."""
    return _is_identifier(name) or _PERIOD.match(name) is not None


def _is_number(output: Output) -> bool:
    return output.dtype.is_numeric()


def _first(columns: Mapping[str, Output], pattern: re.Pattern[str]) -> str | None:
    return next((name for name in columns if pattern.match(name)), None)
