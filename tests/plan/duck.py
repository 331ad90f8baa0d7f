"""Compares a relation with a query of DuckDB over the same rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import polars as pl

from cauce.plan import (
    BOOLEAN,
    DATE,
    DECIMAL,
    FLOAT,
    INTEGER,
    TEXT,
    TEXT_LIST,
    Date,
    Decimal,
    Float,
    Integer,
    Relation,
    Table,
    Text,
)
from cauce.plan.outputs import Output
from cauce.scan.cells.kinds import Kind
from tests.plan.tiny import run

Rows = list[tuple[object, ...]]


def table_of(name: str, frame: pl.DataFrame, *, small: bool = False) -> Table:
    return Table(name, f"{name}.csv", {column: _kind(dtype) for column, dtype in frame.schema.items()}, small=small)


def _kind(dtype: pl.DataType) -> Kind:
    if dtype.is_integer():
        return Integer()
    if dtype.is_float():
        return Float()
    if isinstance(dtype, pl.Decimal):
        return Decimal()
    return Date() if dtype == pl.Date else Text()


def output_of(dtype: pl.DataType) -> Output:
    """The output that shows values of this type."""
    if dtype.is_integer():
        return INTEGER
    if dtype.is_float():
        return FLOAT
    if isinstance(dtype, pl.Decimal):
        return DECIMAL
    if isinstance(dtype, pl.List):
        return TEXT_LIST
    return {pl.Boolean(): BOOLEAN, pl.Date(): DATE}.get(dtype, TEXT)


def answer_of(folder: Path, frames: Mapping[str, pl.DataFrame], tables: Sequence[Table], relation: Relation) -> Rows:
    """The rows of a relation over CSV files of these frames, read in parts of a few rows."""
    for name, frame in frames.items():
        frame.write_csv(folder / f"{name}.csv")
    columns = {name: output_of(relation.node.schema[name]) for name in relation.columns}
    return run(folder, *tables, part_bytes=60, q=(relation, columns))["q"].rows()


def duck_rows(frames: Mapping[str, pl.DataFrame], query: str) -> Rows:
    connection = duckdb.connect()
    for name, frame in frames.items():
        connection.register(name, frame.to_arrow())
    return connection.execute(query).fetchall()


def canonical(rows: Rows) -> list[tuple[str, ...]]:
    """Rows in a canonical order, with numbers of all types in the same form."""
    return sorted(tuple(map(_shown, row)) for row in rows)


def _shown(value: object) -> str:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return repr(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_shown, value)) + "]"
    if isinstance(value, int | float) or type(value).__name__ == "Decimal":
        number = float(value)  # type: ignore[arg-type]
        return "nan" if math.isnan(number) else f"{number:.9g}"
    return str(value)
