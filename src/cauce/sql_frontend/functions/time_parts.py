"""Functions on parts of dates, times and intervals: extraction, truncation, differences."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from cauce.sql_frontend.functions.kernel import Kernel
from cauce.sql_frontend.functions.table import Arguments, define, group
from cauce.sql_frontend.functions.time_kernels import UNITS, AddInterval, unit_named
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.types import BIGINT, TIMESTAMP, VARCHAR

group("Date and time")

Part = Callable[[pl.Expr], pl.Expr]


def epoch_us(value: pl.Expr) -> pl.Expr:
    return value.dt.epoch("us")


def _century(value: pl.Expr) -> pl.Expr:
    year = value.dt.year().cast(pl.Int64)
    return pl.when(year > 0).then((year - 1) // 100 + 1).otherwise(year // 100)


def _seconds_us(value: pl.Expr) -> pl.Expr:
    """The microseconds of the current minute."""
    return value.dt.second().cast(pl.Int64) * 1_000_000 + value.dt.microsecond().cast(pl.Int64)


PARTS: dict[str, Part] = {
    "year": lambda value: value.dt.year(),
    "month": lambda value: value.dt.month(),
    "day": lambda value: value.dt.day(),
    "quarter": lambda value: value.dt.quarter(),
    "hour": lambda value: value.dt.hour(),
    "minute": lambda value: value.dt.minute(),
    "second": lambda value: value.dt.second(),
    "millisecond": lambda value: _seconds_us(value) // 1000,
    "microsecond": _seconds_us,
    "week": lambda value: value.dt.week(),
    "isoyear": lambda value: value.dt.iso_year(),
    "dayofweek": lambda value: value.dt.weekday() % 7,
    "isodow": lambda value: value.dt.weekday(),
    "dayofyear": lambda value: value.dt.ordinal_day(),
    "decade": lambda value: value.dt.year() // 10,
    "century": _century,
    "millennium": lambda value: (value.dt.year().cast(pl.Int64) - 1) // 1000 + 1,
    "yearweek": lambda value: value.dt.iso_year().cast(pl.Int64) * 100 + value.dt.week().cast(pl.Int64),
    "era": lambda value: pl.when(value.dt.year() > 0).then(1).otherwise(0),
}
_PART_ALIASES = {
    "dow": "dayofweek", "weekday": "dayofweek", "doy": "dayofyear", "weekofyear": "week", "dayofmonth": "day",
    "years": "year", "months": "month", "days": "day", "hours": "hour", "minutes": "minute", "seconds": "second",
    "quarters": "quarter", "weeks": "week", "milliseconds": "millisecond", "microseconds": "microsecond",
    "y": "year", "mon": "month", "d": "day", "h": "hour", "min": "minute", "m": "minute", "s": "second",
    "sec": "second",
    "ms": "millisecond", "us": "microsecond", "w": "week", "msec": "millisecond", "usec": "microsecond",
    "decades": "decade", "centuries": "century", "millennia": "millennium",
}  # fmt: skip


def part_named(args: Arguments) -> str:
    given = args.constant(0, "the part of the date")
    name = str(given).strip().lower()
    name = _PART_ALIASES.get(name, name)
    if name not in PARTS and name != "epoch":
        raise StatementError(
            f"unknown part of a date {given!r}; expected one of {', '.join([*PARTS, 'epoch'])}", args.at
        )
    return name


def _date_part(args: Arguments) -> pl.Expr:
    name = part_named(args)
    if name == "epoch":
        raise StatementError("date_part('epoch', ...) is not supported; write epoch(...)", args.at)
    return PARTS[name](args[1]).cast(pl.Int64)


def _interval_part(args: Arguments) -> pl.Expr:
    name = part_named(args)
    if name not in _INTERVAL_PARTS:
        raise StatementError(f"the part {name} of an INTERVAL is not supported", args.at)
    return _INTERVAL_PARTS[name](args[1]).cast(pl.Int64)


DAY_US = 86_400_000_000
_INTERVAL_PARTS: dict[str, Part] = {
    "year": lambda value: _towards_zero(value.struct.field("months"), 12),
    "month": lambda value: _rest(value.struct.field("months"), 12),
    "day": lambda value: value.struct.field("days"),
    "hour": lambda value: _towards_zero(value.struct.field("micros"), 3_600_000_000),
    "minute": lambda value: _towards_zero(_rest(value.struct.field("micros"), 3_600_000_000), 60_000_000),
    "second": lambda value: _towards_zero(_rest(value.struct.field("micros"), 60_000_000), 1_000_000),
    "millisecond": lambda value: _towards_zero(_rest(value.struct.field("micros"), 60_000_000), 1000),
    "microsecond": lambda value: _rest(value.struct.field("micros"), 60_000_000),
}


def _towards_zero(value: pl.Expr, by: int) -> pl.Expr:
    return pl.when(value < 0).then(-((-value) // by)).otherwise(value // by)


def _rest(value: pl.Expr, by: int) -> pl.Expr:
    return value - _towards_zero(value, by) * by


# Truncation.

_TRUNCATIONS = {
    "microsecond": "1us",
    "millisecond": "1ms",
    "second": "1s",
    "minute": "1m",
    "hour": "1h",
    "day": "1d",
    "week": "1w",
    "month": "1mo",
    "quarter": "1q",
    "year": "1y",
}


def _date_trunc(args: Arguments) -> pl.Expr:
    given = args.constant(0, "the unit of date_trunc")
    unit = unit_named(str(given))
    if unit in _TRUNCATIONS:
        return args[1].dt.truncate(_TRUNCATIONS[unit])
    if unit in ("decade", "century", "millennium"):
        size = {"decade": 10, "century": 100, "millennium": 1000}[unit]
        year = args[1].dt.year()
        return pl.datetime(year // size * size, 1, 1)
    raise StatementError(f"unknown unit {given!r}; expected one of {', '.join(UNITS)}", args.at)


# Differences.


def _field_number(value: pl.Expr, unit: str) -> pl.Expr:
    """A number that grows by one at each boundary of the unit."""
    micros = epoch_us(value)
    match unit:
        case "year":
            return value.dt.year().cast(pl.Int64)
        case "quarter":
            return value.dt.year().cast(pl.Int64) * 4 + value.dt.quarter().cast(pl.Int64)
        case "month":
            return value.dt.year().cast(pl.Int64) * 12 + value.dt.month().cast(pl.Int64)
        case "decade" | "century" | "millennium":
            return value.dt.year().cast(pl.Int64) // {"decade": 10, "century": 100, "millennium": 1000}[unit]
        case "week":
            # 1970-01-01 was a Thursday.
            return (micros // DAY_US + 3) // 7
    return micros // {"day": DAY_US, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000,
                      "millisecond": 1000, "microsecond": 1}[unit]  # fmt: skip


def _unit_of(args: Arguments) -> str:
    given = args.constant(0, "the unit")
    unit = unit_named(str(given))
    if unit is None:
        raise StatementError(f"unknown unit {given!r}; expected one of {', '.join(UNITS)}", args.at)
    return unit


def _date_diff(args: Arguments) -> pl.Expr:
    unit = _unit_of(args)
    return _field_number(args[2], unit) - _field_number(args[1], unit)


def _date_sub(args: Arguments) -> pl.Expr:
    """Whole units between two times."""
    unit = _unit_of(args)
    return args.run(WholeUnits(args.where, unit), args[1], args[2])


@dataclass(frozen=True)
class WholeUnits(Kernel):
    unit: str

    def compute(self, *columns: pl.Series) -> pl.Series:
        made = [None if a is None or b is None else whole_units(a, b, self.unit) for a, b in zip(*columns, strict=True)]
        return pl.Series(made, dtype=pl.Int64)


def whole_units(start: dt.datetime, end: dt.datetime, unit: str) -> int:
    months, _, micros = UNITS[unit]
    if not months:
        size = micros or {"day": DAY_US, "week": 7 * DAY_US}[unit]
        gap = (end - start) // dt.timedelta(microseconds=1)
        return int(gap // size) if gap >= 0 else -int(-gap // size)
    low, high = (start, end) if start <= end else (end, start)
    count = (high.year - low.year) * 12 + high.month - low.month
    if (high.day, high.time()) < (low.day, low.time()):
        last_of_month = (high + dt.timedelta(days=1)).month != high.month and high.day < low.day
        if not (last_of_month and high.time() >= low.time()):
            count -= 1
    whole = count // months
    return whole if start <= end else -whole


_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def _named_part(number: pl.Expr, names: tuple[str, ...]) -> pl.Expr:
    return number.cast(pl.Int64).replace_strict(dict(enumerate(names, 1)), return_dtype=pl.String)


def _add_interval(args: Arguments) -> pl.Expr:
    return args.run(AddInterval(args.where), args[0], args[1], args.guard)


define(
    "date_part",
    "VARCHAR TIMESTAMP",
    BIGINT,
    _date_part,
    "A part of a time, such as year; also EXTRACT(year FROM t).",
    "date_part('year', DATE '2024-02-29')",
    aliases=("datepart",),
)
define(
    "date_part",
    "VARCHAR INTERVAL",
    BIGINT,
    _interval_part,
    "A part of an interval.",
    "date_part('day', TIMESTAMP '2024-03-01' - TIMESTAMP '2024-02-01')",
    aliases=("datepart",),
)
define(
    "date_trunc",
    "VARCHAR TIMESTAMP",
    TIMESTAMP,
    _date_trunc,
    "The start of the unit that a time is in.",
    "date_trunc('month', DATE '2024-02-29')",
    aliases=("datetrunc",),
)
define(
    "date_diff",
    "VARCHAR TIMESTAMP TIMESTAMP",
    BIGINT,
    _date_diff,
    "The number of boundaries of a unit between two times.",
    "date_diff('month', DATE '2024-01-31', DATE '2024-02-01')",
    aliases=("datediff",),
)
define(
    "date_sub",
    "VARCHAR TIMESTAMP TIMESTAMP",
    BIGINT,
    _date_sub,
    "The number of whole units between two times.",
    "date_sub('month', DATE '2024-01-31', DATE '2024-03-01')",
    aliases=("datesub",),
)
define(
    "date_add",
    "TIMESTAMP INTERVAL",
    TIMESTAMP,
    _add_interval,
    "A time plus an interval; also t + INTERVAL 1 DAY.",
    "date_add(DATE '2024-01-31', INTERVAL 1 MONTH)",
)
_PART_FUNCTIONS = {
    "year": "The year.",
    "quarter": "The quarter, 1 to 4.",
    "month": "The month, 1 to 12.",
    "week": "The ISO week, 1 to 53.",
    "day": "The day of the month.",
    "dayofweek": "The day of the week, Sunday is 0.",
    "isodow": "The day of the week, Monday is 1, Sunday is 7.",
    "dayofyear": "The day of the year.",
    "isoyear": "The year of the ISO week.",
    "yearweek": "The ISO year and week, as in 202409.",
    "decade": "The year divided by ten.",
    "century": "The century.",
    "hour": "The hour.",
    "minute": "The minute.",
    "second": "The second.",
    "millisecond": "The milliseconds of the minute.",
    "microsecond": "The microseconds of the minute.",
}


def _part_function(name: str) -> Callable[[Arguments], pl.Expr]:
    return lambda args: PARTS[name](args[0]).cast(pl.Int64)


_PART_NAMES = {"day": ("dayofmonth",), "week": ("weekofyear",), "dayofweek": ("weekday",)}
for _name, _doc in _PART_FUNCTIONS.items():
    _example = f"{_name}(TIMESTAMP '2024-02-29 13:14:15.678')"
    define(_name, "TIMESTAMP", BIGINT, _part_function(_name), _doc, _example, aliases=_PART_NAMES.get(_name, ()))
define(
    "dayname",
    "TIMESTAMP",
    VARCHAR,
    lambda args: _named_part(args[0].dt.weekday(), _DAYS),
    "The name of the day of the week.",
    "dayname(DATE '2024-02-29')",
)
define(
    "monthname",
    "TIMESTAMP",
    VARCHAR,
    lambda args: _named_part(args[0].dt.month(), _MONTHS),
    "The name of the month.",
    "monthname(DATE '2024-02-29')",
)
