"""Packs rows of fixed width: each column holds the differences to its smallest value, in as few bytes as these need.

Takes a tenth of the time of compressed Arrow IPC, and less space for numbers that are close to each other. Equal rows
have equal bytes, so that a digest of the bytes is one of the rows.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import polars as pl

from cauce.scan.integers.columns import DTYPES, Mask, Values, column_of, type_name, values_of

MAGIC = b"CAUCEROW"
"""Arrow IPC starts with other bytes."""

_SIZE = struct.Struct("<Q")
_ALIGNMENT = 8
_WIDTHS = ((1 << 8, np.uint8), (1 << 16, np.uint16), (1 << 32, np.uint32))


class PackedColumn(msgspec.Struct, frozen=True, array_like=True):
    """`width` bytes for each value, which is the difference to `low`; 0: all values are equal to it. A float is stored
    as it is. With `nulls`, the mask of the column follows its values."""

    name: str
    dtype: str
    low: int
    width: int
    nulls: bool


class Layout(msgspec.Struct, frozen=True, array_like=True):
    height: int
    columns: list[PackedColumn]

    def is_like(self, other: Layout) -> bool:
        """Whether the columns have the same names and types."""
        return [(each.name, each.dtype) for each in self.columns] == [(each.name, each.dtype) for each in other.columns]

    def offsets(self) -> list[int]:
        """The offset of each column in the body, and its end."""
        made, at = [], 0
        for each in self.columns:
            made.append(at)
            at += _aligned(self.height * each.width) + (_aligned(-(-self.height // 8)) if each.nulls else 0)
        return [*made, at]


@dataclass(frozen=True)
class Packed:
    layout: Layout
    body: bytes

    def dump(self) -> bytes:
        header = self.header()
        return b"".join((MAGIC, _SIZE.pack(len(header)), header, self.body))

    def header(self) -> bytes:
        """The layout, padded so that all columns are aligned."""
        made = msgspec.msgpack.encode(self.layout)
        return _SIZE.pack(len(made)) + made + bytes(_aligned(len(made)) - len(made))


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def pack(frame: pl.DataFrame) -> Packed | None:
    """None if a column has no fixed width, or a value exceeds 64 bits."""
    columns: list[PackedColumn] = []
    parts: list[bytes] = []
    if not frame.width:
        return None
    for column in frame:
        dtype = type_name(column.dtype)
        values = None if dtype is None else values_of(column)
        if dtype is None or values is None:
            return None
        null = column.is_null().to_numpy() if column.null_count() else None
        columns.append(_pack_column(column.name, dtype, values, null, parts))
    return Packed(Layout(frame.height, columns), b"".join(parts))


def _pack_column(name: str, dtype: str, values: Values, null: Mask | None, parts: list[bytes]) -> PackedColumn:
    if values.dtype.kind == "f":
        low, stored = 0, values
    else:
        low, stored = _narrowed(values)
    _add(parts, stored.tobytes())
    if null is not None:
        _add(parts, np.packbits(null).tobytes())
    width = stored.itemsize if stored.size else 0
    return PackedColumn(name, dtype, low, width, null is not None)


def _narrowed(values: Values) -> tuple[int, Values]:
    if not values.size:
        return 0, values
    low, high = int(values.min()), int(values.max())
    if low == high:
        return low, values[:0]
    for limit, dtype in _WIDTHS:
        if high - low < limit:
            # Modulo the width, so that the differences are exact.
            return low, np.subtract(values, values.dtype.type(low), dtype=dtype, casting="unsafe")
    return 0, values.astype(np.int64, copy=False)


def _add(parts: list[bytes], data: bytes) -> None:
    parts.append(data)
    parts.append(bytes(_aligned(len(data)) - len(data)))


def is_packed(data: bytes) -> bool:
    return data[: len(MAGIC)] == MAGIC


def unpack(data: bytes) -> pl.DataFrame:
    start = len(MAGIC) + 2 * _SIZE.size
    body = len(MAGIC) + _SIZE.size + _SIZE.unpack_from(data, len(MAGIC))[0]
    size = _SIZE.unpack_from(data, len(MAGIC) + _SIZE.size)[0]
    layout = msgspec.msgpack.decode(memoryview(data)[start : start + size], type=Layout)
    return unpack_body(layout, memoryview(data)[body:])


def unpack_body(layout: Layout, body: memoryview) -> pl.DataFrame:
    bounds = pairwise(layout.offsets())
    return pl.DataFrame(
        [
            unpack_column(each, layout.height, body[at:end])
            for each, (at, end) in zip(layout.columns, bounds, strict=True)
        ]
    )


def unpack_column(packed: PackedColumn, height: int, data: memoryview | bytes) -> pl.Series:
    """`data` holds `height` values, and the mask after them."""
    dtype = DTYPES[packed.dtype]
    null = None
    if packed.nulls:
        mask = np.frombuffer(data, np.uint8, -(-height // 8), _aligned(height * packed.width))
        null = np.unpackbits(mask, count=height).view(np.bool_)
    values = np.empty(height, value_type(packed))
    unpack_values(packed, data, values)
    return column_of(packed.name, values, dtype, null)


def value_type(packed: PackedColumn) -> np.dtype[Any]:
    """The type of the unpacked values."""
    if DTYPES[packed.dtype].is_float():
        return np.dtype("f4" if packed.dtype == "f4" else "f8")
    return np.dtype(np.int64)


def unpack_values(packed: PackedColumn, data: memoryview | bytes, to: Values) -> None:
    if not packed.width:
        to[:] = packed.low
    elif to.dtype.kind == "f" or packed.width == to.itemsize:
        to[:] = np.frombuffer(data, to.dtype, len(to))
    else:
        np.add(np.frombuffer(data, f"<u{packed.width}", len(to)), packed.low, out=to, dtype=np.int64)
