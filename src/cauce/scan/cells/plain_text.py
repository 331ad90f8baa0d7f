"""Formats typed values as the text of the equivalent CSV cell."""

from __future__ import annotations

import decimal

import polars as pl

_TIME = "%Y-%m-%d %H:%M:%S%.f"  # prints no fraction if it is zero
FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31
_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def plain_text(series: pl.Series) -> pl.Series | None:
    """Texts of the values; None for types without a plain text (lists, structs, bytes)."""
    dtype = series.dtype
    if dtype.is_float():
        return _floats(series)
    if dtype.is_decimal():
        return _without_zeros(series.cast(pl.String))
    if isinstance(dtype, pl.Datetime):
        return _or_count(series, wall_clock(series).dt.strftime(_TIME))
    if dtype == pl.Date:
        return _or_count(series, within_calendar(series).cast(pl.String))
    if isinstance(dtype, pl.Duration):
        return series.dt.to_string("iso").replace("PT0S", "PT0M")
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        return None
    return series.cast(pl.String)


def in_calendar(series: pl.Series) -> pl.Series:
    """Which dates or moments are in the years 1 to 9999."""
    count = series.to_physical()
    days = count // _DAY[series.dtype.time_unit] if isinstance(series.dtype, pl.Datetime) else count
    return days.is_between(FIRST_DAY, LAST_DAY)


def within_calendar(series: pl.Series) -> pl.Series:
    """The values with null for those outside the calendar, on which Polars would panic."""
    return series.set(~in_calendar(series), None)


def wall_clock(series: pl.Series) -> pl.Series:
    """Moments as local times of the column's own zone, as their writer saw them."""
    return within_calendar(series).dt.replace_time_zone(None)


def in_zone(clock: pl.Series, zone: str) -> pl.Series:
    """Converts local times of a zone to UTC; null if the zone's clocks skip or repeat a time."""
    local = clock.dt.replace_time_zone(zone, ambiguous="null", non_existent="null")
    moments = local.dt.convert_time_zone("UTC")
    return moments.set(~in_calendar(moments), None)


def _or_count(series: pl.Series, text: pl.Series) -> pl.Series:
    """The text; for a value without one, its raw integer, marked so that it does not parse as a number."""
    return text.zip_with(text.is_not_null(), "@" + series.to_physical().cast(pl.String))


def decoded(series: pl.Series) -> pl.Series:
    """Texts of a column of bytes; those that are not UTF-8 become U+FFFD."""
    try:
        return series.cast(pl.String)
    except pl.exceptions.ComputeError:
        texts = [None if cell is None else cell.decode("utf-8", "replace") for cell in series]
        return pl.Series(series.name, texts, dtype=pl.String)


def _floats(series: pl.Series) -> pl.Series:
    """Shortest digits that round-trip, without an exponent, and without a point for integers."""
    text = series.cast(pl.String)
    exponent = text.str.contains("e", literal=True).fill_null(False)
    if exponent.any():
        plain = [format(decimal.Decimal(number), "f") for number in text.filter(exponent)]
        text = text.scatter(exponent.arg_true(), plain)
    return text.str.strip_suffix(".0")


def _without_zeros(text: pl.Series) -> pl.Series:
    return text.str.replace(r"(\.\d*?)0+$", "${1}").str.strip_suffix(".")
