"""Conversions between types: rounding, ranges and texts as DuckDB has them. A value that does not convert is an error,
or NULL for TRY_CAST."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, InvalidOperation
from decimal import Decimal as PyDecimal
from typing import Any

import numpy as np
import polars as pl

from cauce.sql_frontend.functions.arithmetic import (
    ends,
    from_units,
    limits,
    scale_up,
    to_float,
    units,
    whole,
    with_nulls,
)
from cauce.sql_frontend.functions.kernel import GuardedKernel, run
from cauce.sql_frontend.types import SqlType

_WIDE = Context(prec=400)


def castable(source: SqlType, target: SqlType) -> bool:
    """Whether a conversion exists at all."""
    if source == target or source.name == "NULL":
        return True
    if source.element is not None and target.element is not None:
        return castable(source.element, target.element)
    if source.element is not None or target.element is not None:
        return target.name == "VARCHAR"
    if target.name == "VARCHAR":
        return source.name != "INTERVAL"
    if source.name == "VARCHAR":
        return target.name not in ("INTERVAL", "LIST")
    if source.is_number or source.name == "BOOLEAN":
        return target.is_number or target.name == "BOOLEAN"
    if source.name == "TIME":
        return False
    return source.is_time and (target.is_time or target.name == "TIME")


def translate_cast(
    operand: pl.Expr, source: SqlType, target: SqlType, guard: pl.Expr, quiet: bool, where: str
) -> pl.Expr:
    """The expression that converts a value of one type to another."""
    if source == target:
        return operand
    if source.name == "NULL" or _never_fails(source, target):
        return operand.cast(target.dtype)
    return run(Convert(where, source, target, quiet), target.dtype, operand, guard)


def _never_fails(source: SqlType, target: SqlType) -> bool:
    if source.is_integer and target.is_integer:
        return source.bits <= target.bits
    if source.name == "DECIMAL" and target.name == "DECIMAL":
        return source.scale == target.scale and source.precision <= target.precision
    if source.is_integer and target.is_float:
        return source.bits <= 64
    return (source.name, target.name) in (
        ("FLOAT", "DOUBLE"),
        ("DATE", "TIMESTAMP"),
        ("TIMESTAMP", "DATE"),
        ("TIMESTAMP", "TIME"),
        ("BOOLEAN", "INTEGER"),
        ("BOOLEAN", "BIGINT"),
    )


@dataclass(frozen=True)
class Convert(GuardedKernel):
    source: SqlType
    target: SqlType
    quiet: bool

    def compute(self, *columns: pl.Series) -> pl.Series:
        values, guard = columns
        made, bad = self._converted(values)
        if not self.quiet:
            failed = self.bad_rows(bad, guard)
            if failed.any():
                first = values.filter(failed)[0]
                raise self.fail(f"cannot convert {first!r} from {self.source} to {self.target}; use TRY_CAST for NULL")
        return made

    def _converted(self, values: pl.Series) -> tuple[pl.Series, pl.Series]:
        """The converted values, NULL where impossible, and which are impossible."""
        made = convert(values, self.source, self.target)
        return made, made.is_null() & values.is_not_null()


def convert(values: pl.Series, source: SqlType, target: SqlType) -> pl.Series:
    if target.name == "VARCHAR":
        return to_text(values, source)
    if source.element is not None and target.element is not None:
        return _convert_lists(values, source.element, target.element)
    if source.name == "VARCHAR":
        return _from_text(values, target)
    if target.name == "BOOLEAN":
        return values.cast(pl.Float64) != 0 if source.name == "DECIMAL" else values != 0
    if source.name == "BOOLEAN":
        return convert(values.cast(pl.Int32), SqlType("INTEGER"), target)
    if source.is_number and target.is_number:
        return _convert_number(values, source, target)
    return _convert_time(values, source, target)


def _convert_lists(values: pl.Series, source: SqlType, target: SqlType) -> pl.Series:
    made = []
    for each in values:
        elements = None if each is None else convert(each, source, target).to_list()
        made.append(elements)
    return pl.Series(made, dtype=pl.List(target.dtype))


def _convert_time(values: pl.Series, source: SqlType, target: SqlType) -> pl.Series:
    if target.name == "TIMESTAMPTZ":
        return values.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    if source.name == "TIMESTAMPTZ":
        values = values.dt.replace_time_zone(None)
    return values.cast(target.dtype)


def _convert_number(values: pl.Series, source: SqlType, target: SqlType) -> pl.Series:
    if target.is_float:
        return to_float(values).cast(target.dtype)
    if source.is_float:
        return _from_float(values.cast(pl.Float64), target)
    return _in_range(rescale(units(values), target.scale - source.scale), target)


def _in_range(values: pl.Series, target: SqlType) -> pl.Series:
    low, high = limits(target)
    smallest, largest = ends(values)
    if smallest < low or largest > high:
        values = values.set(((values < whole(low)) | (values > whole(high))).fill_null(False), None)
    return from_units(values, target)


def rescale(values: pl.Series, places: int) -> pl.Series:
    """Units times a power of ten; divided ones are rounded half away from zero. NULL if it exceeds 128 bits."""
    if places > 0:
        made = scale_up(values, places)
        if made is not None:
            return made
        limit = (2**127 - 1) // 10**places
        kept = values.set(((values > whole(limit)) | (values < whole(-limit))).fill_null(False), None)
        return kept * whole(10**places)
    if places == 0:
        return values
    factor = 10**-places
    unit = whole(factor)
    floor = values // unit
    rest = values - floor * unit
    # The rest of a negative value counts from the floor: its half rounds down, away from zero.
    twice = rest + rest
    up = (twice > unit) | ((twice == unit) & (values > whole(0)))
    return floor + up.cast(pl.Int128)


def _from_float(values: pl.Series, target: SqlType) -> pl.Series:
    if target.name == "DECIMAL":
        made = [_float_to_units(each, target) for each in values]
        return from_units(pl.Series(made, dtype=pl.Int128), target)
    low, high = limits(target)
    raw = values.fill_null(0.0).to_numpy()
    with np.errstate(all="ignore"):
        rounded = np.rint(raw)
    inside = np.isfinite(rounded) & (rounded >= float(low)) & (rounded < float(high + 1))
    kept = pl.Series(np.where(inside, rounded, 0.0)).cast(pl.Int128).cast(target.dtype)
    return with_nulls(kept, values.is_null() | pl.Series(~inside))


def _float_to_units(value: float | None, target: SqlType) -> int | None:
    if value is None or not math.isfinite(value):
        return None
    scaled = value * float(10**target.scale)
    made = int(math.floor(scaled + 0.5) if scaled >= 0 else math.ceil(scaled - 0.5)) if abs(scaled) < 1e39 else None
    low, high = limits(target)
    return made if made is not None and low <= made <= high else None


# Texts.


def _from_text(values: pl.Series, target: SqlType) -> pl.Series:
    parse = _PARSERS.get(target.name)
    assert parse is not None, target
    made = {text: parse(text.strip(" \t\n\r\v\f"), target) for text in values.unique() if text is not None}
    if target.is_integer or target.name == "DECIMAL":
        wide = pl.Series([None if text is None else made[text] for text in values], dtype=pl.Int128)
        return from_units(wide, target)
    return pl.Series([None if text is None else made[text] for text in values], dtype=target.dtype)


_NUMBER = re.compile(r"[+-]?(\d+(_\d+)*\.?(\d+(_\d+)*)?|\.\d+)([eE][+-]?\d+)?")


def _parse_exact(text: str, target: SqlType) -> int | None:
    """An integer or a decimal in units, rounded half away from zero."""
    if not _NUMBER.fullmatch(text):
        return None
    try:
        exact = PyDecimal(text.replace("_", "")).scaleb(target.scale, _WIDE)
        made = int(exact.quantize(PyDecimal(1), ROUND_HALF_UP, _WIDE))
    except InvalidOperation:
        return None
    low, high = limits(target)
    return made if low <= made <= high else None


def _parse_float(text: str, target: SqlType) -> float | None:
    lowered = text.lower()
    if lowered in ("nan", "inf", "infinity", "-inf", "-infinity", "+inf", "+infinity", "-nan"):
        return float(lowered)
    return float(text.replace("_", "")) if _NUMBER.fullmatch(text) else None


def _parse_boolean(text: str, target: SqlType) -> bool | None:
    lowered = text.lower()
    if lowered in ("true", "t", "1", "yes", "y"):
        return True
    return False if lowered in ("false", "f", "0", "no", "n") else None


_DATE = re.compile(r"(\d{1,6})([-/\\ ])(\d{1,2})\2(\d{1,2})")
_TIME = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9})\d*)?)?")
_ZONE = re.compile(r"\s*(?:Z|UTC|([+-])(\d{2})(?::?(\d{2}))?)")


def _parse_date(text: str, target: SqlType) -> dt.date | None:
    found = _DATE.match(text)
    if found is None or not _is_time_rest(text[found.end() :]):
        return None
    try:
        return dt.date(int(found[1]), int(found[3]), int(found[4]))
    except ValueError:
        return None


def _is_time_rest(rest: str) -> bool:
    """A date may be followed by a time of day, which is dropped."""
    if not rest.strip():
        return True
    return rest[0] in " T" and _TIME.match(rest[1:].lstrip()) is not None


def _time_of(text: str) -> tuple[dt.time, int] | None:
    found = _TIME.match(text)
    if found is None:
        return None
    micros = int((found[4] or "").ljust(6, "0")[:6] or 0)
    try:
        return dt.time(int(found[1]), int(found[2]), int(found[3] or 0), micros), found.end()
    except ValueError:
        return None


def _parse_time(text: str, target: SqlType) -> dt.time | None:
    found = _time_of(text)
    return found[0] if found is not None and not text[found[1] :].strip() else None


def _parse_timestamp(text: str, target: SqlType) -> dt.datetime | None:
    """A moment is converted to UTC; for a time without zone, an offset is applied and dropped."""
    found = _DATE.match(text)
    if found is None:
        return None
    try:
        day = dt.date(int(found[1]), int(found[3]), int(found[4]))
    except ValueError:
        return None
    rest = text[found.end() :]
    moment = dt.datetime.combine(day, dt.time())
    if rest.strip():
        if rest[0] not in " T":
            return None
        clock = _time_of(rest[1:].lstrip())
        if clock is None:
            return None
        moment = dt.datetime.combine(day, clock[0])
        rest = rest[1:].lstrip()[clock[1] :]
    offset = _offset_of(rest)
    if offset is None:
        return None
    moment -= offset
    return moment.replace(tzinfo=dt.UTC) if target.name == "TIMESTAMPTZ" else moment


def _offset_of(text: str) -> dt.timedelta | None:
    if not text.strip():
        return dt.timedelta()
    found = _ZONE.fullmatch(text.rstrip())
    if found is None:
        return None
    minutes = int(found[2] or 0) * 60 + int(found[3] or 0)
    return dt.timedelta(minutes=-minutes if found[1] == "-" else minutes)


_PARSERS: dict[str, Callable[[str, SqlType], Any]] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "DECIMAL"), _parse_exact),
    "FLOAT": _parse_float,
    "DOUBLE": _parse_float,
    "BOOLEAN": _parse_boolean,
    "DATE": _parse_date,
    "TIME": _parse_time,
    "TIMESTAMP": _parse_timestamp,
    "TIMESTAMPTZ": _parse_timestamp,
}


def to_text(values: pl.Series, source: SqlType) -> pl.Series:
    """Values as DuckDB prints them."""
    if source.name == "VARCHAR":
        return values
    if source.element is not None:
        made = [None if each is None else _list_text(each, source.element) for each in values]
        return pl.Series(made, dtype=pl.String)
    match source.name:
        case "DOUBLE" | "FLOAT":
            narrow = source.name == "FLOAT"
            return pl.Series([None if v is None else float_text(v, narrow) for v in values], dtype=pl.String)
        case "TIMESTAMP" | "TIMESTAMPTZ":
            return _timestamp_text(values, source.name == "TIMESTAMPTZ")
        case "TIME":
            return _time_text(values)
        case "BOOLEAN":
            return values.replace_strict({True: "true", False: "false"}, return_dtype=pl.String)
    return values.cast(pl.String)


def _time_text(values: pl.Series) -> pl.Series:
    printed = values.dt.strftime("%H:%M:%S%.6f")
    head, fraction = printed.str.slice(0, 8), printed.str.slice(9).str.strip_chars_end("0")
    return head + ("." + fraction).replace({".": ""})


def _timestamp_text(values: pl.Series, zoned: bool) -> pl.Series:
    local = values.dt.replace_time_zone(None)
    printed = local.dt.strftime("%Y-%m-%d %H:%M:%S%.6f")
    head, fraction = printed.str.slice(0, 19), printed.str.slice(20).str.strip_chars_end("0")
    made = head + ("." + fraction).replace({".": ""})
    return made + "+00" if zoned else made


def float_text(value: float, narrow: bool = False) -> str:
    """The shortest digits that round-trip, as DuckDB prints them."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if narrow:
        value = float(str(np.float32(value)))
    size = abs(value)
    if value == 0 or 1e-4 <= size < 1e16:
        printed = repr(value)
        return printed if "e" not in printed else format(PyDecimal(printed), "f")
    mantissa, _, exponent = f"{value!r}".partition("e")
    if not exponent:
        mantissa, _, exponent = format(PyDecimal(repr(value)), "e").lower().partition("e")
        digits = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        mantissa = digits
    number = int(exponent)
    return f"{mantissa}e{'-' if number < 0 else '+'}{abs(number):02d}"


def _list_text(values: pl.Series, element: SqlType) -> str:
    return f"[{', '.join('NULL' if each is None else each for each in to_text(values, element))}]"
