"""Packs rows: each column of fixed width holds the differences to its smallest value, in as few bytes as these need.
Texts are packed as their lengths and their bytes.

Takes a tenth of the time of compressed Arrow IPC, and less space for numbers that are close to each other.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import msgspec
import numpy as np
import polars as pl

from cauce.scan.integers.columns import (
    Mask,
    Values,
    column_of,
    lists_of,
    text_bytes,
    texts_of,
    type_name,
    type_named,
    values_of,
    whole_numbers,
)

PACKING_VERSION = 2
"""Part of every plan's digest: processes that pack rows differently must not share a job."""

MAGIC = b"CAUCEROW"
"""Arrow IPC starts with other bytes."""

_SIZE = struct.Struct("<Q")
_ALIGNMENT = 8

TEXT = "text"
"""The type of the bytes of texts."""
_WIDTHS = ((1 << 8, np.uint8), (1 << 16, np.uint16), (1 << 32, np.uint32))


class PackedColumn(msgspec.Struct, frozen=True, array_like=True):
    """`width` bytes for each value, which is the difference to `low`; 0: all values are equal to it. Floats are stored
    as integers if they are `whole`, else as they are. With `nulls`, the mask of the column follows its values. A column
    of lists is one of their lengths, and then one of all values; one of texts is one of their lengths in bytes, and
    then one of all bytes."""

    name: str
    dtype: str
    low: int
    width: int
    nulls: bool
    height: int
    are_lengths: bool = False
    whole: bool = True

    @property
    def size(self) -> int:
        return _aligned(self.height * self.width) + (_aligned(-(-self.height // 8)) if self.nulls else 0)


class Layout(msgspec.Struct, frozen=True, array_like=True):
    height: int
    columns: list[PackedColumn]

    def is_like(self, other: Layout) -> bool:
        """Whether the columns have the same names and types."""
        return [(each.name, each.dtype) for each in self.columns] == [(each.name, each.dtype) for each in other.columns]

    def offsets(self) -> list[int]:
        """The offset of each column in the body, and its end."""
        return [0, *accumulate(each.size for each in self.columns)]


@dataclass(frozen=True)
class Packed:
    layout: Layout
    body: bytes

    @property
    def is_canonical(self) -> bool:
        """Whether equal rows have equal bytes: there are several zeros and NaNs among floats."""
        return all(each.whole for each in self.layout.columns)

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
    """None if a column has neither texts nor a fixed width, or a value exceeds 64 bits."""
    columns: list[PackedColumn] = []
    parts: list[bytes] = []
    if not frame.width:
        return None
    for column in frame:
        if column.dtype == pl.String:
            _add_texts(column, columns, parts)
            continue
        if isinstance(column.dtype, pl.List):
            if column.null_count() or not _add_column(column.list.len().cast(pl.Int64), columns, parts):
                return None
            columns[-1] = msgspec.structs.replace(columns[-1], are_lengths=True)
            column = column.explode(empty_as_null=False)
        if not _add_column(column, columns, parts):
            return None
    return Packed(Layout(frame.height, columns), b"".join(parts))


def _add_texts(column: pl.Series, columns: list[PackedColumn], parts: list[bytes]) -> None:
    null = column.is_null().to_numpy() if column.null_count() else None
    lengths, data = text_bytes(column)
    packed = _pack_column(column.name, "i8", lengths, null, parts)
    columns.append(msgspec.structs.replace(packed, are_lengths=True))
    columns.append(PackedColumn(column.name, TEXT, 0, 1 if len(data) else 0, nulls=False, height=len(data)))
    _add(parts, data.tobytes())


def _add_column(column: pl.Series, columns: list[PackedColumn], parts: list[bytes]) -> bool:
    dtype = type_name(column.dtype)
    values = None if dtype is None else values_of(column)
    if dtype is None or values is None:
        return False
    null = column.is_null().to_numpy() if column.null_count() else None
    columns.append(_pack_column(column.name, dtype, values, null, parts))
    return True


def _pack_column(name: str, dtype: str, values: Values, null: Mask | None, parts: list[bytes]) -> PackedColumn:
    integers = whole_numbers(values) if values.dtype.kind == "f" else values
    low, stored = (0, values) if integers is None else _narrowed(integers)
    _add(parts, stored.tobytes())
    if null is not None:
        _add(parts, np.packbits(null).tobytes())
    width = stored.itemsize if stored.size else 0
    return PackedColumn(name, dtype, low, width, null is not None, len(values), whole=integers is not None)


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
    columns: list[pl.Series] = []
    lengths: pl.Series | None = None
    for each, (at, end) in zip(layout.columns, pairwise(layout.offsets()), strict=True):
        if each.dtype == TEXT:
            assert lengths is not None
            # A copy: it outlives the other columns of the record.
            columns.append(texts_of(lengths, bytes(body[at : at + each.height])))
            lengths = None
            continue
        column = _unpack_column(each, body[at:end])
        if each.are_lengths:
            lengths = column
            continue
        columns.append(column if lengths is None else lists_of(lengths, column))
        lengths = None
    return pl.DataFrame(columns)


def _unpack_column(packed: PackedColumn, data: memoryview) -> pl.Series:
    """`data` holds the values, and the mask after them."""
    null = None
    if packed.nulls:
        mask = np.frombuffer(data, np.uint8, -(-packed.height // 8), _aligned(packed.height * packed.width))
        null = np.unpackbits(mask, count=packed.height).view(np.bool_)
    values = np.empty(packed.height, value_type(packed))
    unpack_values(packed, data, values)
    return column_of(packed.name, values, type_named(packed.dtype), null)


def value_type(packed: PackedColumn) -> np.dtype[Any]:
    """The type of the unpacked values."""
    if type_named(packed.dtype).is_float():
        return np.dtype("f4" if packed.dtype == "f4" else "f8")
    return np.dtype(np.int64)


def unpack_values(packed: PackedColumn, data: memoryview | bytes, to: Values) -> None:
    if not packed.width:
        to[:] = packed.low
    elif not packed.whole:
        to[:] = np.frombuffer(data, to.dtype, len(to))
    elif packed.width == 8:
        to[:] = np.frombuffer(data, np.int64, len(to))
    elif to.dtype == np.int64:
        np.add(np.frombuffer(data, f"<u{packed.width}", len(to)), packed.low, out=to, dtype=np.int64)
    else:
        to[:] = np.add(np.frombuffer(data, f"<u{packed.width}", len(to)), packed.low, dtype=np.int64)
