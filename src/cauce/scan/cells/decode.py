"""Decodes cells, from a byte buffer or a typed column, to a column of the declared kind.

A cell that does not parse is null in the values and marked as bad; it never raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from cauce.scan.cells import numbers, times
from cauce.scan.cells.booleans import booleans
from cauce.scan.cells.cell_kernel import BAD, PARSED, Bytes, Lengths, Starts, States, to_series
from cauce.scan.cells.durations import durations
from cauce.scan.cells.json_cells import cells_of, encoded, json_texts
from cauce.scan.cells.kinds import (
    DECIMAL,
    DECIMAL_SCALE,
    Boolean,
    Date,
    Decimal,
    Duration,
    FieldList,
    Fixed,
    Float,
    Identifier,
    Integer,
    Json,
    Kind,
    Text,
    TextList,
    Time,
    Timestamp,
    ZonedTimestamp,
)
from cauce.scan.cells.literals import parse_lists
from cauce.scan.cells.plain_text import decoded, in_calendar, in_zone, plain_text, wall_clock, within_calendar
from cauce.scan.integers.wide import wide_words

_TEXT_LIKE = (pl.String, pl.Binary, pl.Categorical, pl.Enum, pl.Null)
_SMALL_INTEGERS = (pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt16, pl.UInt32)


@dataclass(frozen=True)
class Parsed:
    """A column of the kind's type, null if the cell is null or bad, and which cells are bad."""

    values: pl.Series
    bad: npt.NDArray[np.bool_]


def parse(kind: Kind, buf: Bytes, start: Starts, length: Lengths) -> Parsed:
    """Parses the cells ``buf[start:start + length]``, without outer or doubled quotes; length 0 is null."""
    buf = np.ascontiguousarray(buf, np.uint8)
    start = np.ascontiguousarray(start, np.int64)
    length = np.ascontiguousarray(length, np.int32)
    _check_bounds(buf, start, length)
    return parse_located(kind, buf, start, length)


def parse_located(kind: Kind, buf: Bytes, start: Starts, length: Lengths) -> Parsed:
    """As ``parse``, for cells that a kernel has located in the buffer: all of them are within it."""
    if isinstance(kind, Json):
        return _json(kind, cells_of(buf, start, length))
    values, state = _values(kind, buf, start, length)
    return Parsed(values, state == BAD)


def _values(kind: Kind, buf: Bytes, start: Starts, length: Lengths) -> tuple[pl.Series, States]:
    match kind:
        case ZonedTimestamp():
            return _moments(kind, buf, start, length)
        case Boolean():
            return booleans(buf, start, length)
        case TextList():
            return parse_lists(buf, start, length)
        case FieldList(field):
            return parse_lists(buf, start, length, field)
    values, state = fixed_width(kind, buf, start, length)
    return to_series(_ARROW_TYPES[type(kind)](kind), values, state), state


_ARROW_TYPES: dict[type[Kind], Callable[[Any], pa.DataType]] = {
    Integer: lambda kind: pa.int64(),
    Identifier: lambda kind: pa.int64(),
    Decimal: lambda kind: pa.decimal128(38, DECIMAL_SCALE if kind.places is None else kind.places),
    Fixed: lambda kind: pa.int64(),
    Float: lambda kind: pa.float64(),
    Time: lambda kind: pa.time64("ns"),
    Date: lambda kind: pa.date32(),
    Timestamp: lambda kind: pa.timestamp("us"),
    Duration: lambda kind: pa.int64(),
}
"""The Arrow types of the kinds whose values have a fixed width."""


def has_fixed_width(kind: Kind) -> bool:
    """Whether ``fixed_width`` decodes cells of the kind."""
    return type(kind) in _ARROW_TYPES


def fixed_width(kind: Kind, buf: Bytes, start: Starts, length: Lengths) -> tuple[npt.NDArray[Any], States]:
    """The values of located cells, one item or row of an array for each, and their states."""
    match kind:
        case Integer():
            return numbers.integers(buf, start, length)
        case Identifier():
            return numbers.integers(buf, start, length, pointed=True)
        case Decimal(places=None):
            return numbers.decimals(buf, start, length)
        case Decimal(places=int(places)):
            units, state = numbers.fixed(buf, start, length, places)
            return wide_words(units), state
        case Fixed(places):
            return numbers.fixed(buf, start, length, places)
        case Float(scientific):
            return numbers.floats(buf, start, length, scientific=scientific)
        case Time():
            return times.clocks(buf, start, length)
        case Date():
            return times.dates(buf, start, length, kind.parsed_format)
        case Timestamp():
            return times.timestamps(buf, start, length, kind.parsed_format)
        case Duration():
            return durations(buf, start, length)
        case _:
            raise TypeError(f"cells of kind {type(kind).__name__} are not parsed here")


def parsed_column(kind: Kind, values: npt.NDArray[Any], state: States) -> Parsed:
    """The column of values that ``fixed_width`` has decoded."""
    return Parsed(to_series(_ARROW_TYPES[type(kind)](kind), values, state), state == BAD)


def _moments(kind: ZonedTimestamp, buf: Bytes, start: Starts, length: Lengths) -> tuple[pl.Series, States]:
    """Times with an offset in UTC; times without one are local times of the kind's zone."""
    values, has_offset, state = times.moments(buf, start, length, kind.parsed_format)
    local = (state == PARSED) & ~has_offset
    if local.any() and kind.zone is not None:
        clock = pl.Series(values[local]).cast(Timestamp().dtype)
        found = in_zone(clock, kind.zone)
        values[local] = found.to_physical().fill_null(0).to_numpy()
        state[np.flatnonzero(local)[found.is_null().to_numpy()]] = BAD
    elif local.any():
        state[local] = BAD
    return to_series(pa.timestamp("us", "UTC"), values, state), state


def _json(kind: Json, cells: Sequence[bytes | None]) -> Parsed:
    texts, invalid = json_texts(kind, cells)
    if isinstance(kind.kind, Text):
        return Parsed(texts if not kind.steps else texts.set(texts == "", None), invalid)
    inner = parse(kind.kind, *_cells(texts))
    return Parsed(inner.values, inner.bad | invalid)


def _check_bounds(buf: Bytes, start: Starts, length: Lengths) -> None:
    """Kernels do no bounds checks: a cell outside the buffer would read foreign memory."""
    if len(start) != len(length):
        raise ValueError(f"{len(start)} starts but {len(length)} lengths of cells")
    if len(start) and (start.min() < 0 or length.min() < 0 or (start + length).max() > len(buf)):
        raise ValueError("a cell is outside its buffer")


def parse_series(kind: Kind, series: pl.Series) -> Parsed:
    """Decodes a typed column, as from Parquet. Equal to parsing the plain text of its values."""
    if isinstance(kind, Text):
        return _texts(series)
    if isinstance(kind, TextList | FieldList) and isinstance(series.dtype, pl.List | pl.Array):
        return _lists(kind, series)
    if isinstance(kind, Json):
        return _json(kind, _json_cells(series))
    direct = _direct(kind, series)
    if direct is not None:
        return direct
    if series.dtype == pl.Binary:
        return parse(kind, *_cells(series))
    text = plain_text(series)
    return all_bad(kind, series) if text is None else parse(kind, *_cells(text))


def _texts(series: pl.Series) -> Parsed:
    text = decoded(series) if series.dtype == pl.Binary else plain_text(series)
    if text is None:
        return all_bad(Text(), series)
    return Parsed(text.set(text == "", None), np.zeros(len(text), np.bool_))


def _json_cells(series: pl.Series) -> list[bytes | None]:
    """The cells of a JSON column: texts unchanged, nested values encoded as JSON."""
    if series.dtype.is_nested():
        return [encoded(value) for value in series.to_list()]
    text = series if series.dtype == pl.Binary else plain_text(series)
    if text is None:
        return [None if value is None else b"@" for value in series.is_not_null()]
    return [value.encode() if isinstance(value, str) else value for value in text.to_list()]


def _cells(text: pl.Series) -> tuple[Bytes, Starts, Lengths]:
    array = text.to_arrow()
    _, offset_buffer, data = array.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[array.offset : array.offset + len(array) + 1]
    buf = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    length = np.diff(offsets)
    length[text.is_null().to_numpy()] = 0
    if len(length) and length.max() > np.iinfo(np.int32).max:
        raise ValueError("a cell of 2 GiB or more cannot be read")
    return buf, offsets[:-1], length.astype(np.int32)


def _direct(kind: Kind, series: pl.Series) -> Parsed | None:
    """Fast path for types that convert without an intermediate text; None if there is none."""
    dtype = series.dtype
    match kind:
        case Integer() | Identifier() if dtype.is_integer():
            values = series.cast(pl.Int64, strict=False)
            return _checked(series, values, values.is_not_null())
        case Float(scientific) if dtype == pl.Float64:
            return _checked(series, series, series.is_not_null() if scientific else series.is_finite())
        case Decimal(places=None) if dtype in _SMALL_INTEGERS or _widens(dtype, DECIMAL_SCALE):
            return _checked(series, series.cast(DECIMAL), series.is_not_null())
        case Decimal(places=int(places)) if _widens(dtype, places):
            return _checked(series, series.cast(kind.dtype), series.is_not_null())
        case Time() if dtype == pl.Time:
            micros = series.to_physical() // 1_000
            return _checked(series, (micros * 1_000).cast(pl.Time), series.is_not_null())
        case Date() if dtype == pl.Date:
            return _checked(series, series, in_calendar(series))
        case Date() if isinstance(dtype, pl.Datetime):
            # Writers without a date type store midnights; any other time would be lost, so it is bad.
            clock = wall_clock(series)
            return _checked(series, clock.dt.date(), (clock.dt.truncate("1d") == clock) & in_calendar(clock))
        case Timestamp() if isinstance(dtype, pl.Datetime):
            # A format describes texts; a typed value fits if the format can represent it.
            clock = wall_clock(series)
            moments = clock.cast(kind.dtype)
            fits = in_calendar(moments)
            if kind.parsed_format is not None:
                fits &= clock.dt.truncate(kind.parsed_format.precision) == clock
            return _checked(series, moments, fits)
        case ZonedTimestamp() if isinstance(dtype, pl.Datetime):
            return _moments_of(kind, series)
        case Boolean() if dtype == pl.Boolean:
            return _checked(series, series, series.is_not_null())
    return None


def _moments_of(kind: ZonedTimestamp, series: pl.Series) -> Parsed:
    """A column of moments in UTC; times without a zone are local times of the kind's zone."""
    assert isinstance(series.dtype, pl.Datetime)
    known = within_calendar(series)
    if series.dtype.time_zone is not None:
        moments = known.dt.convert_time_zone("UTC")
    elif kind.zone is not None:
        moments = in_zone(known, kind.zone)
    else:
        return all_bad(kind, series)
    if kind.parsed_format is not None:
        moments = moments.set(moments.dt.truncate(kind.parsed_format.precision) != moments, None)
    return _checked(series, moments.cast(kind.dtype), in_calendar(moments))


def _widens(dtype: pl.DataType, places: int) -> bool:
    """Whether every value of a decimal type is one of a decimal kind with that many decimals."""
    if not isinstance(dtype, pl.Decimal):
        return False
    whole = numbers.MAX_WHOLE_DIGITS if places == DECIMAL_SCALE else numbers.MAX_PLACES - places
    return dtype.scale <= places and dtype.precision - dtype.scale <= whole


def _checked(series: pl.Series, values: pl.Series, fits: pl.Series) -> Parsed:
    fits = fits.fill_null(False)
    bad = series.is_not_null() & ~fits
    return Parsed(values.set(bad, None) if bad.any() else values, bad.to_numpy())


def _lists(kind: TextList | FieldList, series: pl.Series) -> Parsed:
    if isinstance(series.dtype, pl.Array):
        series = series.arr.to_list()
    assert isinstance(series.dtype, pl.List)
    inner = series.dtype.inner
    elements = series
    if isinstance(inner, pl.Struct) and isinstance(kind, FieldList):
        fields = {field.name: field.dtype for field in inner.fields}
        inner = fields.get(kind.field, inner)
        if kind.field in fields:
            elements = series.list.eval(pl.element().struct.field(kind.field))
    if inner == pl.Binary:
        elements = elements.list.eval(pl.element().map_batches(decoded, return_dtype=pl.String))
    elif inner not in _TEXT_LIKE:
        # Its elements cannot be texts, but an empty list is still a list.
        empty = series.list.len() == 0
        nothing = pl.Series([[]], dtype=kind.dtype).new_from_index(0, len(series))
        return _checked(series, nothing.set(series.is_null(), None), empty)
    values = elements.cast(kind.dtype)
    whole = values.list.eval(pl.element().is_not_null()).list.all()
    return _checked(series, values, whole)


def all_bad(kind: Kind, series: pl.Series) -> Parsed:
    """A column whose cells are all unreadable."""
    nothing = pl.Series([None], dtype=kind.dtype).new_from_index(0, len(series))
    return Parsed(nothing, series.is_not_null().to_numpy())
