"""Splits rows into partitions by a hash of their keys that is the same in every process, machine and version."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import polars_hash  # noqa: F401  (adds the hashing namespaces to Polars expressions)

from cauce.operators.exact import one_zero

SEPARATOR = "\x1f"


def key_text(frame: pl.DataFrame, keys: Sequence[str]) -> pl.Expr:
    """The text that stands for a row's key. Two keys with one text meet in a partition, which does no harm."""
    texts = [_as_text(key, frame.schema[key]) for key in keys]
    return texts[0] if len(texts) == 1 else pl.concat_str(texts, separator=SEPARATOR)


def _as_text(key: str, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(key)
    if dtype == pl.String:
        return column
    if dtype.is_float():
        # The digits of a float's text may change between versions, its bits don't. Equal ones have equal bits
        # when -0.0 has become 0.0 and every nan the same one.
        canonical = one_zero(column.cast(pl.Float64)).fill_nan(float("nan"))
        return canonical.reinterpret(dtype=pl.Int64).cast(pl.String)
    if isinstance(dtype, pl.Decimal):
        return column.cast(pl.Decimal(38, dtype.scale)).cast(pl.String).str.strip_chars_end("0")
    if dtype.is_temporal():
        return column.to_physical().cast(pl.String)
    return column.cast(pl.String)


def partition_numbers(frame: pl.DataFrame, keys: Sequence[str], partitions: int) -> pl.Series:
    digest = key_text(frame, keys).nchash.xxh3_64()  # type: ignore[attr-defined]
    return frame.select((digest.fill_null(0) % partitions).alias("#partition")).to_series()


def split(frame: pl.DataFrame, keys: Sequence[str], partitions: int) -> list[pl.DataFrame]:
    """One frame for each partition, rows in the order they had."""
    if partitions == 1:
        return [frame]
    if frame.is_empty():
        return [frame] * partitions
    numbers = partition_numbers(frame, keys, partitions)
    return [frame.filter(numbers == number) for number in range(partitions)]
