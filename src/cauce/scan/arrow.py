"""Arrow arrays as Polars series, without a copy and without what Polars would import on the way."""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa


class _Exported:
    """An array of which Polars sees only Arrow's C interface: for a ``pa.Array`` it would load pyarrow's compute
    functions, which takes a tenth of a second in each process."""

    def __init__(self, array: pa.Array) -> None:
        self._array: Any = array

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self._array.__arrow_c_array__(requested_schema)


def arrow_series(array: pa.Array) -> pl.Series:
    values: Any = _Exported(array)
    return pl.Series(values)
