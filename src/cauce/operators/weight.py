"""The size of the content of frames. Additive over rows, and equal in every process: unlike the memory that Polars has
allocated, it does not depend on how a frame was made."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

_TEXT_BYTES = 16
"""Of a text besides its characters, and of the bounds of a list."""
_DEFAULT_BYTES = 8


def weigh(frame: pl.DataFrame) -> int:
    """The bytes of all values of a frame."""
    return sum(_weigh(column) for column in frame)


def row_weights(frame: pl.DataFrame) -> npt.NDArray[np.int64] | None:
    """The bytes of each row, which add up to those of `weigh`; None for lists and structs."""
    if any(isinstance(dtype, pl.List | pl.Struct) for dtype in frame.dtypes):
        return None
    made = np.zeros(frame.height, np.int64)
    for column in frame:
        if _is_text(column.dtype):
            made += _TEXT_BYTES + _lengths(column).fill_null(0).to_numpy().astype(np.int64)
        else:
            made += _width(column.dtype)
    return made


def weigh_state(frame: pl.DataFrame, keys: Collection[str], longest: Mapping[str, int]) -> int:
    """As `weigh`, but each text besides the keys counts as the `longest` of its column in the whole input. So the
    weight of a merged state never shrinks when more rows are merged into it."""
    return sum(
        column.len() * (_TEXT_BYTES + longest.get(column.name, 0))
        if column.name not in keys and _is_text(column.dtype)
        else _weigh(column)
        for column in frame
    )


def longest_texts(frame: pl.DataFrame, known: Mapping[str, int]) -> dict[str, int]:
    """The length in bytes of the longest text of each column, here or known before."""
    found = dict(known)
    for column in frame:
        if _is_text(column.dtype):
            longest = _lengths(column).max()
            found[column.name] = max(found.get(column.name, 0), longest if isinstance(longest, int) else 0)
    return found


def _is_text(dtype: pl.DataType) -> bool:
    return dtype in (pl.String, pl.Binary)


def _lengths(column: pl.Series) -> pl.Series:
    return column.str.len_bytes() if column.dtype == pl.String else column.bin.size()


def _weigh(column: pl.Series) -> int:
    if _is_text(column.dtype):
        return len(column) * _TEXT_BYTES + int(_lengths(column).sum())
    if isinstance(column.dtype, pl.List):
        return len(column) * _TEXT_BYTES + _weigh(column.drop_nulls().explode(empty_as_null=False))
    if isinstance(column.dtype, pl.Struct):
        return sum(_weigh(column.struct.field(field.name)) for field in column.dtype.fields)
    return len(column) * _width(column.dtype)


def _width(dtype: pl.DataType) -> int:
    if isinstance(dtype, pl.Decimal) or dtype == pl.Int128:
        return 16
    if dtype.is_integer() or dtype.is_float():
        return int("".join(filter(str.isdigit, str(dtype)))) // 8
    return 1 if dtype in (pl.Boolean, pl.Null) else 4 if dtype == pl.Date else _DEFAULT_BYTES
