"""Converts Arrow arrays to Polars series without a copy and without the imports that Polars would trigger, and row
numbers to indexes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

_INDEX = np.uint32 if pl.get_index_type() == pl.UInt32 else np.uint64
_ARROW_INDEX = pa.uint32() if pl.get_index_type() == pl.UInt32 else pa.uint64()


class _Exported:
    """Exposes only Arrow's C interface of an array: for a ``pa.Array`` Polars would import pyarrow's compute functions,
    which takes 0.1 s in each process."""

    def __init__(self, array: pa.Array) -> None:
        self._array: Any = array

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self._array.__arrow_c_array__(requested_schema)


def arrow_series(array: pa.Array) -> pl.Series:
    values: Any = _Exported(array)
    return pl.Series(values)


def index_series(rows: npt.NDArray[np.int64] | npt.NDArray[np.int32]) -> pl.Series:
    """Row numbers, none of them negative, of the type that Polars gathers by. It converts others at every call, in
    several passes."""
    values = rows.astype(_INDEX)
    # Not `pl.Series(values)`, which takes twice as long.
    return arrow_series(pa.Array.from_buffers(_ARROW_INDEX, len(values), [None, pa.py_buffer(values)]))
