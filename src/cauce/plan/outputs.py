"""The columns of an answer: the type each has in Arrow, Parquet and JSON, and how it prints in CSV."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Context
from decimal import Decimal as PyDecimal
from functools import cached_property

import polars as pl

from cauce.errors import PlanError
from cauce.plan.checks.arguments import checked, instance, whole_number
from cauce.scan.integers.columns import decimals_of

DIGITS = 38
"""Maximum digits of an exact number. An output value that needs more is null."""

_SHORT_DIGITS = 18
"""Any so many digits fit in 64 bits."""

_WIDE = Context(prec=420)
"""Enough for the digits of the largest float and all decimals of an output."""


@dataclass(frozen=True)
class Output:
    """A column written unchanged: text, integers, dates."""

    dtype: pl.DataType

    def shape(self, values: pl.Series) -> pl.Series:
        # Some 128-bit integers have more than 38 digits.
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
class DecimalOutput(Output):
    """An exact number with a fixed number of decimals, rounded half-even. If `unscaled`, the input values are
    integers in units of the last decimal (cents)."""

    dtype: pl.DataType = field(default_factory=lambda: pl.Decimal(38, 2))
    scale: int = 2
    unscaled: bool = False

    def shape(self, values: pl.Series) -> pl.Series:
        units = self._units(values)
        if units is not None:
            return decimals_of(units, self.scale)
        return pl.Series(values.name, map(self._fitted, values), dtype=self.dtype)

    def _units(self, values: pl.Series) -> pl.Series | None:
        """The values in units of the last decimal; None if one must be rounded, or needs more than 64 bits."""
        dtype = values.dtype
        if self.unscaled:
            return values if dtype == pl.Int64 and self.scale <= _SHORT_DIGITS else None
        if not isinstance(dtype, pl.Decimal) or not 0 <= dtype.scale - self.scale <= _SHORT_DIGITS:
            return None
        units, step = values.to_physical(), pl.Series([10 ** (dtype.scale - self.scale)], dtype=pl.Int128)
        whole = units // step
        short = whole.cast(pl.Int64, strict=False)
        fits = short.null_count() == values.null_count() and bool((whole * step == units).all())
        return short if fits else None

    def _fitted(self, value: PyDecimal | float | None) -> PyDecimal | None:
        """The value rounded to its decimals; null if it is not a finite number or needs more than 38 digits."""
        if value is None or not math.isfinite(value):
            return None
        exact = PyDecimal(value)
        if self.unscaled:
            made = exact.scaleb(-self.scale, _WIDE)
        else:
            made = exact.quantize(PyDecimal(1).scaleb(-self.scale), ROUND_HALF_EVEN, _WIDE)
        return made if made.copy_abs() < self._limit else None

    @cached_property
    def _limit(self) -> PyDecimal:
        return PyDecimal(10).scaleb(DIGITS - self.scale - 1)


@dataclass(frozen=True)
class ShortestDecimalOutput(Output):
    """An exact number without trailing zeros."""

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
    """Prints ISO 8601, as JSON does: six fractional digits unless they are zero, and `Z` if it is in UTC."""

    dtype: pl.DataType = field(default_factory=lambda: pl.Datetime("us"))

    def shape(self, values: pl.Series) -> pl.Series:
        """Rejects times without a zone declared as TIMESTAMPTZ, and times with one declared as TIMESTAMP: a cast would
        mix them silently."""
        if isinstance(values.dtype, pl.Datetime):
            given, wanted = values.dtype.time_zone, self._zone
            if given is not None and wanted is None:
                raise PlanError(
                    f"column {values.name} has times in a zone ({given}): declare it as TIMESTAMPTZ, or drop it with "
                    ".dt.convert_time_zone(zone).dt.replace_time_zone(None)"
                )
            if given is None and wanted is not None:
                raise PlanError(
                    f"column {values.name} has times without a zone: declare it as TIMESTAMP, or add the zone with "
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
"""Replaces INTEGER for a column that may exceed 64 bits, such as a sum."""
DATE = Output(pl.Date())
BOOLEAN = Output(pl.Boolean())
TIMESTAMP = TimestampOutput()
TIMESTAMPTZ = TimestampOutput(pl.Datetime("us", "UTC"))
FLOAT = FloatOutput()
TEXT_LIST = ListOutput()
DECIMAL = ShortestDecimalOutput()


@checked
def decimal(scale: int, *, unscaled: bool = False) -> DecimalOutput:
    """An exact number printed with `scale` decimals, rounded half-even. With `unscaled`, the column holds integers in
    units of the last decimal, such as cents.

    >>> @dataset.query(customer=TEXT, paid=decimal(2), fare=decimal(2, unscaled=True))
    ... def fares() -> Relation: ...
    """
    whole_number("decimal: its scale", scale, 0, DIGITS - 1)
    instance("decimal: unscaled", unscaled, bool, "True or False")
    return DecimalOutput(pl.Decimal(38, scale), scale, unscaled)


_SCALED, _UNSCALED = "places", "scaled"
"""These names, and those below, are in the manifests of stored jobs: they never change."""

_NAMED: dict[str, Output] = {
    "text": TEXT,
    "integer": INTEGER,
    "wide-integer": WIDE_INTEGER,
    "date": DATE,
    "boolean": BOOLEAN,
    "timestamp": TIMESTAMP,
    "moment": TIMESTAMPTZ,
    "float": FLOAT,
    "texts": TEXT_LIST,
    "plain": DECIMAL,
}


def output_name(output: Output) -> str:
    """A stable name of an output: `output_named` maps it back in every version of Cauce and of Polars."""
    if isinstance(output, DecimalOutput):
        return f"{_UNSCALED if output.unscaled else _SCALED}-{output.scale}"
    found = next((name for name, each in _NAMED.items() if each == output), None)
    if found is None:
        raise PlanError(f"{output!r} is not an output; expected an output such as TEXT or decimal(2)")
    return found


def output_named(name: str) -> Output:
    kind, _, scale = name.rpartition("-")
    if kind in (_SCALED, _UNSCALED) and scale.isdecimal():
        return decimal(int(scale), unscaled=kind == _UNSCALED)
    if name not in _NAMED:
        raise PlanError(f"unknown output {name}")
    return _NAMED[name]


def narrow_integers(frame: pl.DataFrame) -> pl.DataFrame:
    """Casts integer-valued decimal columns to 64-bit integers, the type that Python programs expect of a count or a
    sum. A column with a larger value keeps its type."""
    narrowed = []
    for name, dtype in frame.schema.items():
        if dtype == pl.Decimal(DIGITS, 0):
            values = frame[name].cast(pl.Int64, strict=False)
            narrowed += [values] if values.null_count() == frame[name].null_count() else []
    return frame.with_columns(narrowed)
