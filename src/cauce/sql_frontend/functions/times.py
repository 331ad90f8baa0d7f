"""Functions that convert and construct dates, times and intervals."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import polars as pl

from cauce.sql_frontend.functions.kernel import GuardedKernel
from cauce.sql_frontend.functions.table import Arguments, define, group
from cauce.sql_frontend.functions.time_kernels import MakeInterval
from cauce.sql_frontend.functions.time_parts import DAY_US, epoch_us
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.types import BIGINT, DATE, DOUBLE, INTERVAL, TIME, TIMESTAMP, VARCHAR

group("Date and time")


_FIRST_US = -62_135_596_800_000_000
_LAST_US = 253_402_300_799_999_999


@dataclass(frozen=True)
class TimeOfUnits(GuardedKernel):
    """The time of a number of units since 1970, in the years 1 to 9999."""

    micros: int

    def compute(self, *columns: pl.Series) -> pl.Series:
        units, guard = columns
        fits = (units >= _FIRST_US // self.micros) & (units <= _LAST_US // self.micros)
        if self.bad_rows(~fits, guard).any():
            raise self.fail("the time is outside of the years 1 to 9999")
        return (units * self.micros).cast(pl.Datetime("us"))


def _time_of(micros: int) -> Callable[[Arguments], pl.Expr]:
    return lambda args: args.run(TimeOfUnits(args.where, micros), args[0], args.guard)


def _milliseconds(micros: pl.Expr) -> pl.Expr:
    """Rounded half away from zero."""
    return pl.when(micros < 0).then(-((500 - micros) // 1000)).otherwise((micros + 500) // 1000)


# Texts.

_STRFTIME = {
    "%-d": "%-d", "%-m": "%-m", "%-H": "%-H", "%-I": "%-I", "%-M": "%-M", "%-S": "%-S", "%-j": "%-j", "%f": "%6f",
    "%g": "%3f", "%y": "%y", "%Y": "%Y", "%m": "%m", "%d": "%d", "%H": "%H", "%I": "%I", "%M": "%M", "%S": "%S",
    "%p": "%p", "%a": "%a", "%A": "%A", "%b": "%b", "%B": "%B", "%j": "%j", "%U": "%U", "%W": "%W", "%w": "%w",
    "%u": "%u", "%V": "%V", "%G": "%G", "%%": "%%", "%x": "%Y-%m-%d", "%X": "%H:%M:%S", "%c": "%Y-%m-%d %H:%M:%S",
}  # fmt: skip


def time_format(args: Arguments, index: int) -> str:
    """A format of SQL as one of Polars."""
    given = args.constant(index, "the format")

    def change(found: re.Match[str]) -> str:
        if found[0] not in _STRFTIME:
            raise StatementError(f"{found[0]} in a format is not supported", args.at)
        return _STRFTIME[found[0]]

    return re.sub(r"%-?.", change, given or "", flags=re.DOTALL)


def _strftime(args: Arguments) -> pl.Expr:
    return args[0].dt.strftime(time_format(args, 1))


@dataclass(frozen=True)
class ParseTime(GuardedKernel):
    format: str
    shown: str
    quiet: bool

    def compute(self, *columns: pl.Series) -> pl.Series:
        texts, guard = columns
        made = [None if text is None else _parsed(text, self.format) for text in texts]
        values = pl.Series(made, dtype=pl.Datetime("us"))
        if not self.quiet:
            failed = self.bad_rows(values.is_null() & texts.is_not_null(), guard)
            if failed.any():
                text = texts.filter(failed)[0]
                raise self.fail(f"{text!r} does not match the format {self.shown!r}; use try_strptime for NULL")
        return values


def _parsed(text: str, form: str) -> dt.datetime | None:
    for each in (text, _with_long_years(text, form)):
        try:
            return dt.datetime.strptime(each, form)
        except ValueError:
            continue
    return None


def _with_long_years(text: str, form: str) -> str:
    """A text whose years have four digits, as Python wants them: SQL reads shorter ones too."""
    found = _years(form).fullmatch(text)
    years = found.regs[1:] if found else ()
    for start, end in reversed(years):
        text = text[:start] + text[start:end].zfill(4) + text[end:]
    return text


@lru_cache
def _years(form: str) -> re.Pattern[str]:
    """Matches texts of a format; its groups are the years."""
    parts = re.split("(%.)", form, flags=re.DOTALL)
    year = r"(\d{4}|\d{1,3}(?!\d))"
    return re.compile(
        "".join(year if each == "%Y" else ".+?" if each[:1] == "%" else re.escape(each) for each in parts)
    )


def _strptime(quiet: bool) -> Callable[[Arguments], pl.Expr]:
    def build(args: Arguments) -> pl.Expr:
        given = args.constant(1, "the format")
        form = re.sub(r"%-(.)", r"%\1", given or "")
        return args.run(ParseTime(args.where, form, given or "", quiet), args[0], args.guard)

    return build


# Construction.


@dataclass(frozen=True)
class MakeTime(GuardedKernel):
    """A date or timestamp of its fields."""

    what: str

    def compute(self, *columns: pl.Series) -> pl.Series:
        fields, guard = columns[:-1], columns[-1]
        made: list[dt.date | dt.datetime | dt.time | None] = []
        for *row, on in zip(*fields, guard, strict=True):
            value = None
            if not any(each is None for each in row):
                try:
                    value = _MAKERS[self.what](*row)
                except (ValueError, OverflowError):
                    if on:
                        shown = ", ".join(map(str, row))
                        raise self.fail(f"make_{self.what}({shown}) is not a valid {self.what}") from None
            made.append(value)
        return pl.Series(made, dtype=_MADE[self.what])


def _datetime(year: int, month: int, day: int, hour: int, minute: int, second: float) -> dt.datetime:
    whole = int(second)
    return dt.datetime(year, month, day, hour, minute, whole, round((second - whole) * 1_000_000))


def _time(hour: int, minute: int, second: float) -> dt.time:
    whole = int(second)
    return dt.time(hour, minute, whole, round((second - whole) * 1_000_000))


_MAKERS: dict[str, Callable[..., dt.date | dt.datetime | dt.time]] = {
    "date": dt.date,
    "timestamp": _datetime,
    "time": _time,
}
_MADE: dict[str, pl.DataType] = {"date": pl.Date(), "timestamp": pl.Datetime("us"), "time": pl.Time()}


def _make(what: str) -> Callable[[Arguments], pl.Expr]:
    return lambda args: args.run(MakeTime(args.where, what), *args.exprs, args.guard)


def _interval_of(unit: str) -> Callable[[Arguments], pl.Expr]:
    return lambda args: args.run(MakeInterval(args.where, unit))


def _last_day(args: Arguments) -> pl.Expr:
    return args[0].cast(pl.Date).dt.month_end()


def _time_bucket(args: Arguments) -> pl.Expr:
    months, days, micros = args.constant(0, "the width of time_bucket")
    origin = dt.datetime(2000, 1, 3)
    if months and not days and not micros:
        number = args[1].dt.year().cast(pl.Int64) * 12 + args[1].dt.month().cast(pl.Int64) - 1
        first = (number - 2000 * 12) // months * months + 2000 * 12
        return pl.datetime(first // 12, first % 12 + 1, 1)
    if months:
        raise StatementError("the width of time_bucket must be months, or days and times", args.at)
    size = days * DAY_US + micros
    start = int((origin - dt.datetime(1970, 1, 1)).total_seconds() * 1_000_000)
    made: pl.Expr = (epoch_us(args[1]) - start) // size * size + start
    return made.cast(pl.Datetime("us"))


define("last_day", "TIMESTAMP", DATE, _last_day, "The last day of the month.", "last_day(DATE '2024-02-05')")
define(
    "epoch",
    "TIMESTAMP",
    DOUBLE,
    lambda args: epoch_us(args[0]) / 1e6,
    "Seconds since 1970.",
    "epoch(TIMESTAMP '2024-02-29 13:14:15.5')",
)
define(
    "epoch_ms",
    "TIMESTAMP",
    BIGINT,
    lambda args: _milliseconds(epoch_us(args[0])),
    "Milliseconds since 1970.",
    "epoch_ms(TIMESTAMP '2024-02-29 13:14:15.5')",
)
define(
    "epoch_us",
    "TIMESTAMP",
    BIGINT,
    lambda args: epoch_us(args[0]),
    "Microseconds since 1970.",
    "epoch_us(TIMESTAMP '2024-02-29 13:14:15.5')",
)
define(
    "epoch_ms",
    "BIGINT",
    TIMESTAMP,
    _time_of(1000),
    "The time of milliseconds since 1970.",
    "epoch_ms(1709212455500)",
    checks=True,
)
define(
    "make_timestamp",
    "BIGINT",
    TIMESTAMP,
    _time_of(1),
    "The time of microseconds since 1970.",
    "make_timestamp(1709212455500000)",
    checks=True,
)
define(
    "make_date",
    "BIGINT BIGINT BIGINT",
    DATE,
    _make("date"),
    "The date of a year, month and day.",
    "make_date(2024, 2, 29)",
    checks=True,
)
define(
    "make_timestamp",
    "BIGINT BIGINT BIGINT BIGINT BIGINT DOUBLE",
    TIMESTAMP,
    _make("timestamp"),
    "The time of its six fields.",
    "make_timestamp(2024, 2, 29, 13, 14, 15.5)",
    checks=True,
)
define(
    "make_time",
    "BIGINT BIGINT DOUBLE",
    TIME,
    _make("time"),
    "The time of day of its fields.",
    "make_time(13, 14, 15.5)",
    checks=True,
)
define(
    "strftime",
    "TIMESTAMP VARCHAR",
    VARCHAR,
    _strftime,
    "A time as text in a format.",
    "strftime(DATE '2024-02-29', '%d/%m/%Y')",
)
define(
    "strptime",
    "VARCHAR VARCHAR",
    TIMESTAMP,
    _strptime(False),
    "The time of a text in a format.",
    "strptime('29/02/2024', '%d/%m/%Y')",
    checks=True,
)
define(
    "try_strptime",
    "VARCHAR VARCHAR",
    TIMESTAMP,
    _strptime(True),
    "As strptime, NULL if the text does not fit.",
    "try_strptime('x', '%d/%m/%Y')",
)
define(
    "time_bucket",
    "INTERVAL DATE",
    DATE,
    lambda args: _time_bucket(replace(args, exprs=(args[0], args[1].cast(pl.Datetime("us"))))).cast(pl.Date),
    "The start of the bucket of a width that a date is in.",
    "time_bucket(INTERVAL 1 MONTH, DATE '2024-02-29')",
)
define(
    "time_bucket",
    "INTERVAL TIMESTAMP",
    TIMESTAMP,
    _time_bucket,
    "The start of the bucket of a width that a time is in.",
    "time_bucket(INTERVAL 2 WEEK, DATE '2024-02-29')",
)
for _name in (
    "microsecond",
    "millisecond",
    "second",
    "minute",
    "hour",
    "day",
    "week",
    "month",
    "quarter",
    "year",
    "decade",
):
    define(
        f"to_{_name}s",
        "BIGINT",
        INTERVAL,
        _interval_of(_name),
        f"An interval of n {_name}s.",
        f"DATE '2024-01-31' + to_{_name}s(2)",
    )
