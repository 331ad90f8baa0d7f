"""Types of the columns of a Parquet file, from its own schema."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types

from cauce.errors import WrongColumns
from cauce.scan.parts import TableFile
from cauce.schema.types import MOST_DIGITS, ColumnType


def parquet_columns(file: TableFile) -> tuple[dict[str, ColumnType | None], int]:
    """The types of a file's columns, None for a column of nulls; and its number of rows."""
    import pyarrow.parquet

    try:
        schema = pyarrow.parquet.read_schema(file.path)
        rows = pyarrow.parquet.read_metadata(file.path).num_rows
    except (pa.ArrowException, OSError) as problem:
        raise WrongColumns(
            f"{file.name} cannot be read as Parquet: {problem}; copy or write the file again"
        ) from problem
    return {name: type_of_arrow(kind) for name, kind in zip(schema.names, schema.types, strict=True)}, rows


def type_of_arrow(kind: pa.DataType) -> ColumnType | None:
    if types.is_null(kind):
        return None
    if types.is_dictionary(kind):
        return type_of_arrow(kind.value_type)
    if types.is_decimal(kind):
        exact = kind.precision <= MOST_DIGITS and kind.scale >= 0
        return ColumnType("decimal", kind.scale if exact else None)
    for is_kind, name in _NAMES:
        if is_kind(kind):
            return ColumnType(name)
    if types.is_timestamp(kind):
        return ColumnType("timestamp" if kind.tz is None else "timestamptz")
    return ColumnType("json" if types.is_nested(kind) else "text")


_NAMES = (
    (types.is_integer, "integer"),
    (types.is_floating, "float"),
    (types.is_boolean, "boolean"),
    (types.is_date, "date"),
    (types.is_time, "time"),
)
