"""Kernels on times: intervals have months, days and microseconds, which are added in this order."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from cauce.sql_frontend.functions.kernel import GuardedKernel, Kernel

DAY_US = 86_400_000_000
FIELDS = ("months", "days", "micros")


def interval_series(months: pl.Series, days: pl.Series, micros: pl.Series, valid: pl.Series) -> pl.Series:
    frame = pl.DataFrame({"months": months, "days": days, "micros": micros, "valid": valid})
    fields = pl.struct("months", "days", "micros")
    return frame.select(pl.when("valid").then(fields)).to_series()


@dataclass(frozen=True)
class SubtractTimes(Kernel):
    """The days and microseconds between two times."""

    def compute(self, *columns: pl.Series) -> pl.Series:
        later, earlier = columns
        gap = (later - earlier).dt.total_microseconds()
        days = gap.abs() // DAY_US * gap.sign()
        return interval_series(gap * 0, days, gap - days * DAY_US, gap.is_not_null())


@dataclass(frozen=True)
class AddInterval(GuardedKernel):
    """A time plus an interval; the day is clamped to the length of the month."""

    def compute(self, *columns: pl.Series) -> pl.Series:
        times, intervals, _ = columns
        frame = pl.DataFrame({"t": times, "i": intervals}).with_columns(
            months=pl.col("i").struct.field("months"),
            days=pl.col("i").struct.field("days"),
            micros=pl.col("i").struct.field("micros"),
        )
        moved = frame.select(_add_months(frame).alias("t"), "days", "micros")
        step = pl.duration(microseconds=pl.col("days") * DAY_US + pl.col("micros"), time_unit="us")
        return moved.select(pl.col("t") + step).to_series()


def _add_months(frame: pl.DataFrame) -> pl.Series:
    months = frame["months"].unique().drop_nulls().to_list()
    if len(months) == 1:
        return frame["t"].dt.offset_by(f"{months[0]}mo").set(frame["months"].is_null(), None)
    by = pl.concat_str(pl.col("months").fill_null(0).cast(pl.String), pl.lit("mo"))
    made = frame.select(pl.col("t").dt.offset_by(by)).to_series()
    return made.set(frame["months"].is_null(), None)


@dataclass(frozen=True)
class AddIntervals(Kernel):
    def compute(self, *columns: pl.Series) -> pl.Series:
        a, b = columns
        months, days, micros = (a.struct.field(name) + b.struct.field(name) for name in FIELDS)
        return interval_series(months, days, micros, a.is_not_null() & b.is_not_null())


@dataclass(frozen=True)
class ScaleInterval(Kernel):
    def compute(self, *columns: pl.Series) -> pl.Series:
        interval, factor = columns
        months, days, micros = (interval.struct.field(name) * factor for name in FIELDS)
        return interval_series(months, days, micros, interval.is_not_null() & factor.is_not_null())


@dataclass(frozen=True)
class MakeInterval(Kernel):
    """An interval of a number of units."""

    unit: str

    def compute(self, *columns: pl.Series) -> pl.Series:
        (number,) = columns
        months, days, micros = UNITS[self.unit]
        return interval_series(number * months, number * days, number * micros, number.is_not_null())


UNITS: dict[str, tuple[int, int, int]] = {
    "microsecond": (0, 0, 1),
    "millisecond": (0, 0, 1000),
    "second": (0, 0, 1_000_000),
    "minute": (0, 0, 60_000_000),
    "hour": (0, 0, 3_600_000_000),
    "day": (0, 1, 0),
    "week": (0, 7, 0),
    "month": (1, 0, 0),
    "quarter": (3, 0, 0),
    "year": (12, 0, 0),
    "decade": (120, 0, 0),
    "century": (1200, 0, 0),
    "millennium": (12000, 0, 0),
}


def unit_named(text: str) -> str | None:
    """The unit of time with this name, singular or plural."""
    name = text.strip().lower()
    short = {"us": "microsecond", "ms": "millisecond", "s": "second", "sec": "second", "m": "minute", "min": "minute",
             "h": "hour", "hr": "hour", "d": "day", "w": "week", "mon": "month", "y": "year", "yr": "year"}  # fmt: skip
    name = short.get(name, name)
    plural = {"centuries": "century", "millennia": "millennium", "millenniums": "millennium"}
    name = plural.get(name, name)
    if name in UNITS:
        return name
    return name[:-1] if name.endswith("s") and name[:-1] in UNITS else None
