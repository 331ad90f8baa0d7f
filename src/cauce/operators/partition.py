"""Splits rows into partitions by a hash of their keys that is the same in every process, machine and version."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import polars_hash  # noqa: F401  (adds the hashing namespaces to Polars expressions)

from cauce.operators.exact import one_zero

SEPARATOR = "\x1f"
NULL = "\x1e"


def key_text(frame: pl.DataFrame, keys: Sequence[str]) -> pl.Expr:
    """The text that is hashed for a row's key. Different keys with equal texts share a partition, which is harmless."""
    texts = [_as_text(key, frame.schema[key]) for key in keys]
    if len(texts) == 1:
        return texts[0]
    # A null in one key must not send the row to the same partition as all others with a null.
    filled = [
        text.fill_null(NULL) if frame.get_column(key).null_count() else text
        for key, text in zip(keys, texts, strict=True)
    ]
    return pl.concat_str(filled, separator=SEPARATOR)


def _as_text(key: str, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(key)
    if dtype == pl.String:
        return column
    if dtype.is_float():
        # A float's text may change between versions, its bits do not. Equal floats have equal bits once -0.0 is
        # replaced by 0.0 and every NaN by the same NaN.
        canonical = one_zero(column.cast(pl.Float64)).fill_nan(float("nan"))
        return canonical.reinterpret(dtype=pl.Int64).cast(pl.String)
    if isinstance(dtype, pl.Decimal):
        return column.cast(pl.Decimal(38, dtype.scale)).cast(pl.String).str.strip_chars_end("0")
    if dtype.is_temporal():
        return column.to_physical().cast(pl.String)
    return column.cast(pl.String)


def key_hashes(frame: pl.DataFrame, keys: Sequence[str]) -> pl.Series:
    """A hash of 64 bits for each row; 0 if its only key is null."""
    digest = key_text(frame, keys).nchash.xxh3_64()  # type: ignore[attr-defined]
    return frame.select(digest.fill_null(0).alias("#hash")).to_series()


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
    numbers = partition_numbers(frame, keys, partitions)
    return [frame.filter(numbers == number) for number in range(partitions)]
