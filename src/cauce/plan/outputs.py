"""The columns of an answer: the type each has in Arrow, Parquet and JSON, and how it prints in CSV."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Context
from decimal import Decimal as PyDecimal
from functools import cached_property

import polars as pl

from cauce.errors import PlanError
from cauce.plan.arguments import whole_number

DIGITS = 38
"""Of an exact number. A value of an answer that needs more is null."""

_WIDE = Context(prec=420)
"""Enough for the digits of the largest float and all decimals of an output."""


@dataclass(frozen=True)
class Output:
    """A column of an answer as it is: text, integers, dates."""

    dtype: pl.DataType

    def shape(self, values: pl.Series) -> pl.Series:
        # Integers of 128 bits have some values of more than 38 digits.
        return values.cast(self.dtype, strict=values.dtype != pl.Int128)

    def text(self, values: pl.Series) -> pl.Series:
        return values.cast(pl.String)


@dataclass(frozen=True)
class FloatOutput(Output):
    """Prints the shortest digits that round-trip."""

    dtype: pl.DataType = field(default_factory=pl.Float64)

    def text(self, values: pl.Series) -> pl.Series:
        return pl.Series(values.name, [None if v is None else repr(v) for v in values], dtype=pl.String)


@dataclass(frozen=True)
class ListOutput(Output):
    """Prints its elements joined with `; `."""

    dtype: pl.DataType = field(default_factory=lambda: pl.List(pl.String()))

    def text(self, values: pl.Series) -> pl.Series:
        return values.list.join("; ")


@dataclass(frozen=True)
class PlacesOutput(Output):
    """An exact number with a fixed number of decimals, rounded half-even; `scaled` ones come as whole counts
    of the last decimal (cents)."""

    dtype: pl.DataType = field(default_factory=lambda: pl.Decimal(38, 2))
    places: int = 2
    scaled: bool = False

    def shape(self, values: pl.Series) -> pl.Series:
        return pl.Series(values.name, map(self._fitted, values), dtype=self.dtype)

    def _fitted(self, value: PyDecimal | float | None) -> PyDecimal | None:
        """The value with its decimals; null where it is no number or needs more than 38 digits."""
        if value is None or not math.isfinite(value):
            return None
        exact = PyDecimal(value)
        if self.scaled:
            made = exact.scaleb(-self.places, _WIDE)
        else:
            made = exact.quantize(PyDecimal(1).scaleb(-self.places), ROUND_HALF_EVEN, _WIDE)
        return made if made.copy_abs() < self._limit else None

    @cached_property
    def _limit(self) -> PyDecimal:
        return PyDecimal(10).scaleb(DIGITS - self.places - 1)


@dataclass(frozen=True)
class PlainOutput(Output):
    """An exact number without needless zeros."""

    dtype: pl.DataType = field(default_factory=lambda: pl.Decimal(38, 18))

    def shape(self, values: pl.Series) -> pl.Series:
        if values.dtype.is_float():
            fits = values.is_finite() & (values.abs() < 1e20)
            values = values.set(~fits, None)
        return values.cast(self.dtype, strict=False)

    def text(self, values: pl.Series) -> pl.Series:
        digits = values.cast(self.dtype).cast(pl.String)
        return digits.str.strip_chars_end("0").str.strip_suffix(".")


@dataclass(frozen=True)
class TimestampOutput(Output):
    """Prints ISO 8601 as JSON does: with a fraction of six digits unless it is zero, and with `Z` if it is in UTC."""

    dtype: pl.DataType = field(default_factory=lambda: pl.Datetime("us"))

    def shape(self, values: pl.Series) -> pl.Series:
        """Times without a zone are never taken for moments, nor moments for times: a cast would do so silently."""
        if isinstance(values.dtype, pl.Datetime):
            given, wanted = values.dtype.time_zone, self._zone
            if given is not None and wanted is None:
                raise PlanError(
                    f"column {values.name} has moments ({given}): show it as MOMENT, or make times of it with "
                    ".dt.convert_time_zone(zone).dt.replace_time_zone(None)"
                )
            if given is None and wanted is not None:
                raise PlanError(
                    f"column {values.name} has times without a zone: show it as TIMESTAMP, or make moments of it with "
                    ".dt.replace_time_zone(zone)"
                )
        return values.cast(self.dtype)

    @property
    def _zone(self) -> str | None:
        assert isinstance(self.dtype, pl.Datetime)
        return self.dtype.time_zone

    def text(self, values: pl.Series) -> pl.Series:
        printed = values.dt.replace_time_zone(None).dt.strftime("%Y-%m-%dT%H:%M:%S%.6f").str.strip_suffix(".000000")
        return printed if self._zone is None else printed + "Z"


TEXT = Output(pl.String())
INTEGER = Output(pl.Int64())
WIDE_INTEGER = Output(pl.Decimal(38, 0))
"""What INTEGER becomes for a column that may exceed 64 bits, such as a sum."""
DATE = Output(pl.Date())
BOOLEAN = Output(pl.Boolean())
TIMESTAMP = TimestampOutput()
MOMENT = TimestampOutput(pl.Datetime("us", "UTC"))
FLOAT = FloatOutput()
TEXTS = ListOutput()
PLAIN = PlainOutput()


def places(n: int) -> PlacesOutput:
    """An exact number printed with n decimals."""
    whole_number("places: its number of decimals", n, 0, DIGITS - 1)
    return PlacesOutput(pl.Decimal(38, n), n)


def scaled(n: int) -> PlacesOutput:
    """A whole count of 10**-n (cents for n = 2) printed with n decimals."""
    whole_number("scaled: its number of decimals", n, 0, DIGITS - 1)
    return PlacesOutput(pl.Decimal(38, n), n, scaled=True)


def narrow_integers(frame: pl.DataFrame) -> pl.DataFrame:
    """Whole decimals as 64-bit integers in every column whose values all fit: what a Python program expects of a count
    or a sum. A column with a larger value keeps its type."""
    narrowed = []
    for name, dtype in frame.schema.items():
        if dtype == pl.Decimal(DIGITS, 0):
            values = frame[name].cast(pl.Int64, strict=False)
            narrowed += [values] if values.null_count() == frame[name].null_count() else []
    return frame.with_columns(narrowed)
