"""Splits rows into partitions by a hash of their keys that is the same in every process, machine and version."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from cauce.operators.exact import one_zero
from cauce.scan.arrow import index_series
from cauce.scan.integers.columns import column_of, has_fixed_width, is_constant, is_fixed_width, values_of
from cauce.scan.integers.scatter import Placement, mixed, scatter
from cauce.scan.text_hash import text_hashes

HASH_VERSION = 2
"""Part of every plan's digest: processes with different hashes must not share a job."""

Hashes = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64]

_FEW_PARTITIONS = 4
"""Up to this many, texts are filtered for each partition, which is faster than to gather them."""

_MANY_ROWS = 500
"""Fewer rows are moved all at once: the cost of a call for each column or partition is higher."""

_NULL = np.uint64(0x1E)
"""The hash of a null among several keys: it must not send the row to the same partition as all others with a null."""

_SHORT_INTEGERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)


def _as_text(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Different keys with equal texts share a partition, which is harmless."""
    if dtype == pl.String:
        return column
    if dtype.is_float():
        # A float's text may change between versions, its bits do not. Equal floats have equal bits once -0.0 is
        # replaced by 0.0 and every NaN by the same NaN.
        canonical = one_zero(column.cast(pl.Float64)).fill_nan(float("nan"))
        return canonical.reinterpret(dtype=pl.Int64).cast(pl.String)
    if isinstance(dtype, pl.Decimal):
        return column.cast(pl.Decimal(38, dtype.scale)).cast(pl.String).str.strip_chars_end("0")
    return column.cast(pl.String)


def _of_texts(key: pl.Series) -> Hashes:
    """That of a null is not null."""
    texts = key if key.dtype == pl.String else key.to_frame().select(_as_text(pl.col(key.name), key.dtype)).to_series()
    return text_hashes(texts)


def _of_integers(key: pl.Series) -> Hashes:
    filled = key.fill_null(0) if key.null_count() else key
    return mixed(np.ascontiguousarray(filled.rechunk().to_numpy(), np.int64).view(np.uint64))


def _hashes(key: pl.Series, null: np.uint64) -> Hashes:
    """Integers by their value, whatever their type; dates and times by their physical integer; others by their text."""
    if key.dtype.is_temporal():
        # Not `to_physical`, which is a Polars query.
        key = key.cast(pl.Int32 if key.dtype == pl.Date else pl.Int64)
    if key.dtype in _SHORT_INTEGERS:
        made = _of_integers(key)
    elif key.dtype.is_integer():
        short = key.cast(pl.Int64, strict=False)
        made = np.where(short.is_null(), _of_texts(key), _of_integers(short))
    else:
        made = _of_texts(key)
    return np.where(key.is_null(), null, made) if key.null_count() else made


def key_hashes(frame: pl.DataFrame, keys: Sequence[str]) -> pl.Series:
    """A hash of 64 bits for each row; 0 if its only key is null."""
    first, *others = (frame.get_column(key) for key in keys)
    made = _hashes(first, _NULL if others else np.uint64(0))
    for key in others:
        made = mixed(made + _hashes(key, _NULL))
    return pl.Series("#hash", made)


def partition_numbers(frame: pl.DataFrame, keys: Sequence[str], partitions: int, divisor: int = 1) -> pl.Series:
    """The partition of each row: the hash modulo `partitions`, after division by `divisor`. With the number of
    partitions as the divisor, the rows of one partition are split further."""
    hashes = key_hashes(frame, keys)
    return (hashes if divisor == 1 else hashes // divisor) % partitions


def split(frame: pl.DataFrame, keys: Sequence[str], partitions: int) -> list[pl.DataFrame]:
    """One frame per partition; rows keep their order."""
    if partitions == 1:
        return [frame]
    if frame.is_empty():
        return [frame] * partitions
    many = frame.height >= _MANY_ROWS
    if many and not has_fixed_width(frame) and partitions <= _FEW_PARTITIONS:
        numbers = partition_numbers(frame, keys, partitions)
        return [frame.filter(numbers == number) for number in range(partitions)]
    placement = Placement.of(key_hashes(frame, keys).to_numpy(), partitions)
    ordered = side_by_side(frame, placement)
    return [
        ordered.slice(start, count)
        for start, count in zip(placement.starts.tolist(), placement.counts.tolist(), strict=True)
    ]


def side_by_side(frame: pl.DataFrame, placement: Placement) -> pl.DataFrame:
    """The rows of each partition next to each other, in their order."""
    if np.count_nonzero(placement.counts) <= 1:
        return frame
    if frame.height < _MANY_ROWS:
        return frame[index_series(np.argsort(placement.numbers, kind="stable"))]
    positions = placement.positions()
    order: Rows | None = None
    made = []
    for column in frame:
        values = None if column.null_count() or not is_fixed_width(column.dtype) else values_of(column)
        if values is not None:
            moved = None if is_constant(values) else scatter(values, positions)
            made.append(column if moved is None else column_of(column.name, moved, column.dtype))
            continue
        if order is None:
            order = np.empty(len(positions), np.int64)
            order[positions] = np.arange(len(positions))
        made.append(column.gather(order))
    return pl.DataFrame(made)
