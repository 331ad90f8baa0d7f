"""Columns of fixed width as NumPy arrays and back, without copies where possible.

A column of 128-bit integers or decimals counts as one of 64 bits if all its values fit. The values of decimals are in
units of their last digit. Values under a null are 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from cauce.scan.arrow import arrow_series
from cauce.scan.integers.wide import narrowed, widened

Values = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

DTYPES: dict[str, pl.DataType] = {
    "i1": pl.Int8(),
    "i2": pl.Int16(),
    "i4": pl.Int32(),
    "i8": pl.Int64(),
    "u1": pl.UInt8(),
    "u2": pl.UInt16(),
    "u4": pl.UInt32(),
    "i16": pl.Int128(),
    "f8": pl.Float64(),
    "f4": pl.Float32(),
    "date": pl.Date(),
    "time": pl.Time(),
    "us": pl.Datetime("us"),
    "utc": pl.Datetime("us", "UTC"),
    "span": pl.Duration("us"),
}
"""Types of fixed width by their name in packed rows, besides decimals. These names are stored: they never change."""

_FIRST_VALUES = 100

_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_ARROW = {"i": {1: pa.int8(), 2: pa.int16(), 4: pa.int32(), 8: pa.int64()}}
_ARROW["u"] = {1: pa.uint8(), 2: pa.uint16(), 4: pa.uint32(), 8: pa.uint64()}
_ARROW["f"] = {4: pa.float32(), 8: pa.float64()}


def type_name(dtype: pl.DataType) -> str | None:
    """The name of a type of fixed width; None for other types."""
    if isinstance(dtype, pl.Decimal):
        return f"d{dtype.precision or 38}.{dtype.scale}"
    return _NAMES.get(dtype)


def type_named(name: str) -> pl.DataType:
    """The reverse of `type_name`."""
    if name not in DTYPES and name.startswith("d"):
        precision, scale = name[1:].split(".")
        return pl.Decimal(int(precision), int(scale))
    return DTYPES[name]


def is_fixed_width(dtype: pl.DataType) -> bool:
    return dtype in _NAMES or isinstance(dtype, pl.Decimal)


def has_fixed_width(frame: pl.DataFrame) -> bool:
    return frame.width > 0 and all(map(is_fixed_width, frame.dtypes))


def values_of(column: pl.Series) -> Values | None:
    """The physical values of a column of fixed width, contiguous; None for those of 128 bits that exceed 64 bits."""
    if column.null_count():
        column = column.to_physical().fill_null(0)
    if isinstance(column.dtype, pl.Decimal):
        return narrowed(column)
    if column.dtype.is_temporal():
        # Not `to_physical`, which is a Polars query.
        column = column.cast(pl.Int32 if column.dtype == pl.Date else pl.Int64)
    if column.dtype == pl.Int128:
        short = column.cast(pl.Int64, strict=False)
        if short.null_count():
            return None
        column = short
    return _in_one_piece(column)


def _in_one_piece(column: pl.Series) -> Values:
    """The values of a column without nulls. Not by Polars: the C library keeps freed memory for the next array, and the
    allocator of Polars returns it to the kernel."""
    if column.n_chunks() == 1:
        return np.ascontiguousarray(column.to_numpy())
    return np.concatenate([chunk.to_numpy() for chunk in column.get_chunks()])


def in_one_piece(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows, with columns of fixed width without nulls in one piece: several steps read their values."""
    return pl.DataFrame([_column_in_one_piece(column) for column in frame])


def _column_in_one_piece(column: pl.Series) -> pl.Series:
    if column.n_chunks() == 1 or column.null_count() or column.dtype == pl.Int128 or column.dtype not in _NAMES:
        return column
    return column_of(column.name, _in_one_piece(column.to_physical()), column.dtype)


def all_values(frame: pl.DataFrame) -> list[Values] | None:
    """The values of all columns; None if a column has no fixed width, has nulls, or exceeds 64 bits."""
    if not has_fixed_width(frame) or any(column.null_count() for column in frame):
        return None
    made: list[Values] = []
    for column in frame:
        values = values_of(column)
        if values is None:
            return None
        made.append(values)
    return made


def column_of(name: str, values: Values, dtype: pl.DataType, null: Mask | None = None) -> pl.Series:
    """The reverse of `values_of`; rows of the mask are null."""
    validity = None if null is None else pa.py_buffer(np.packbits(~null, bitorder="little"))
    if isinstance(dtype, pl.Decimal):
        return widened(values, dtype, validity).alias(name)
    arrow = _ARROW[values.dtype.kind][values.dtype.itemsize]
    made = arrow_series(pa.Array.from_buffers(arrow, len(values), [validity, pa.py_buffer(values)]))
    return (made if made.dtype == dtype else made.cast(dtype)).alias(name)


def decimals_of(units: pl.Series, scale: int) -> pl.Series:
    """64-bit integers in units of the last decimal as decimals."""
    filled = units.fill_null(0) if units.null_count() else units
    low = filled.rechunk().to_numpy()
    words = np.stack([low, low >> 63], axis=1)
    validity = pa.py_buffer(np.packbits(units.is_not_null().to_numpy(), bitorder="little"))
    buffers = [validity if units.null_count() else None, pa.py_buffer(words)]
    return arrow_series(pa.Array.from_buffers(pa.decimal128(38, scale), len(units), buffers)).alias(units.name)


def whole_numbers(values: Values) -> Values | None:
    """The integers that floats are equal to; None if some are no integers, or a negative zero."""
    for part in (values[:_FIRST_VALUES], values):
        with np.errstate(invalid="ignore"):
            whole = part.astype(np.int64)
        if not (whole.astype(part.dtype).view(f"i{part.itemsize}") == part.view(f"i{part.itemsize}")).all():
            return None
    return whole


def lists_of(lengths: pl.Series, values: pl.Series) -> pl.Series:
    """Lists of these lengths, of consecutive values."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths.to_numpy(), out=offsets[1:])
    inner = pa.array(values.rechunk().to_arrow())
    made = pa.LargeListArray.from_arrays(pa.array(offsets), inner)
    return arrow_series(made).cast(pl.List(values.dtype)).alias(values.name)


def text_bytes(column: pl.Series) -> tuple[Values, Values]:
    """The length of each text in bytes, 0 for a null, and the bytes of all texts."""
    filled = column.fill_null("") if column.null_count() else column
    array = filled.rechunk().to_arrow()
    _, offset_buffer, data = array.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[array.offset : array.offset + len(array) + 1]
    found = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return np.diff(offsets), found[offsets[0] : offsets[-1]]


def texts_of(lengths: pl.Series, data: bytes) -> pl.Series:
    """Texts of these lengths, of consecutive bytes; null where the length is."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths.fill_null(0).to_numpy() if lengths.null_count() else lengths.to_numpy(), out=offsets[1:])
    null = lengths.is_null().to_numpy() if lengths.null_count() else None
    validity = None if null is None else pa.py_buffer(np.packbits(~null, bitorder="little"))
    buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(data)]
    return arrow_series(pa.Array.from_buffers(pa.large_string(), len(lengths), buffers)).alias(lengths.name)


def is_constant(values: Values) -> bool:
    """Whether all values are equal; there is at least one."""
    return bool(values[0] == values[-1]) and bool((values == values[0]).all())
