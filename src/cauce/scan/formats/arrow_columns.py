"""Prepares Arrow columns for Polars, which raises on some types and panics on some values.

A column of an unsupported type becomes a text column with the type's name, and all its cells are unreadable; nulls
stay null. No value is ever changed to another readable value.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
from pyarrow import types

from cauce.scan.cells.plain_text import FIRST_DAY, LAST_DAY

_DAY_S = 86_400
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_FAR_S = 2**50
"""Seconds beyond every supported year; a thousand times as many still fit into 64 bits."""


def prepared(table: pa.Table) -> tuple[pa.Table, frozenset[str]]:
    """The table in types that Polars supports, and the columns whose cells are all unreadable."""
    unreadable: list[str] = []
    for number, name in enumerate(table.column_names):
        column = table.column(number)
        ready = _ready(column)
        if ready is None:
            unreadable.append(name)
            ready = pa.chunked_array([_named(chunk) for chunk in column.chunks], pa.string())
        if ready is not column:
            table = table.set_column(number, name, ready)
    return table, frozenset(unreadable)


def _ready(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    kind = column.type
    if types.is_decimal256(kind):
        return pa.chunked_array([_digits(chunk) for chunk in column.chunks], pa.string())
    if not _is_taken(kind) or not all(_is_sound(chunk) for chunk in column.chunks):
        return None
    if types.is_timestamp(kind) and kind.unit == "s":
        return pa.chunked_array([_clipped(chunk) for chunk in column.chunks], kind)
    return column


def _named(array: pa.Array) -> pa.Array:
    return pa.array([f"<{array.type}>"[:200] if cell.is_valid else None for cell in array], pa.string())


def _digits(array: pa.Array) -> pa.Array:
    """Decimals with more digits than Polars supports, as texts: a kind parses those that fit."""
    values = (cell.as_py() for cell in array)
    return pa.array([None if value is None else _plain(format(value, "f")) for value in values], pa.string())


def _plain(digits: str) -> str:
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


@lru_cache(maxsize=256)
def _is_taken(kind: pa.DataType) -> bool:
    # Polars panics on these; for other unsupported types it raises.
    if any(types.is_decimal256(each) for each in _within(kind)):
        return False
    try:
        # With a row: on an empty array Polars panics for more types.
        pl.from_arrow(pa.table({"": pa.nulls(1, kind)}))
    except (pl.exceptions.PolarsError, pa.ArrowException, NotImplementedError, ValueError, TypeError):
        return False
    return True


def _within(kind: pa.DataType) -> Iterator[pa.DataType]:
    """The type and all its nested types."""
    yield kind
    if types.is_dictionary(kind):
        yield from _within(kind.value_type)
    for number in range(kind.num_fields):
        yield from _within(kind.field(number).type)


def _is_sound(array: pa.Array, nested: bool = False) -> bool:
    """Whether Polars keeps every value unchanged and can print it."""
    kind = array.type
    if types.is_time(kind):
        return _lie_within(array, 0, _DAY_S * _PER_SECOND[kind.unit] - 1)
    if types.is_duration(kind):
        return kind.unit != "s" or _lie_within(array, -_FAR_S, _FAR_S)
    if nested and types.is_timestamp(kind):
        day = _DAY_S * _PER_SECOND[kind.unit]
        return _lie_within(array, (FIRST_DAY + 1) * day, LAST_DAY * day)
    if nested and types.is_date(kind):
        day = 1 if types.is_date32(kind) else _DAY_S * 1000
        return _lie_within(array, FIRST_DAY * day, LAST_DAY * day)
    return all(_is_sound(part, nested=True) for part in _parts(array))


def _parts(array: pa.Array) -> list[pa.Array]:
    kind = array.type
    if types.is_map(kind):
        return [array.keys, array.items]
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return [array.flatten()]
    if types.is_struct(kind):
        return list(array.flatten())
    return [array.dictionary] if types.is_dictionary(kind) and array.type.value_type.num_fields else []


def _counts(array: pa.Array) -> npt.NDArray[np.int64]:
    """The raw integers of times, including those under nulls."""
    width = np.int32 if array.type.bit_width == 32 else np.int64
    held = np.frombuffer(array.buffers()[1], width) if len(array) else np.empty(0, width)
    return held[: array.offset + len(array)].astype(np.int64)


def _lie_within(array: pa.Array, least: int, most: int) -> bool:
    valid = ~array.is_null().to_numpy(zero_copy_only=False) if array.null_count else slice(None)
    counts = _counts(array)[array.offset :][valid]
    return bool(((counts >= least) & (counts <= most)).all())


def _clipped(array: pa.Array) -> pa.Array:
    """Clips seconds, which Polars multiplies: values far outside the calendar stay outside, but do not overflow."""
    counts = _counts(array).clip(-_FAR_S, _FAR_S)
    buffers = [array.buffers()[0], pa.py_buffer(counts.tobytes())]
    return pa.Array.from_buffers(array.type, len(array), buffers, array.null_count, array.offset)
