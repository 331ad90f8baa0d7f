"""Runs SQL here, through the workers' code in this process, and in DuckDB, on the same CSV files."""

from __future__ import annotations

import csv
import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal as PyDecimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa

from cauce.plan import Boolean, Date, Fixed, Float, Integer, Table, Text, Timestamp
from cauce.process.memory_limit import MemoryBudget
from cauce.runner.in_process import Settings
from cauce.runner.sinks import prepare, run_in_memory
from cauce.scan.cells.kinds import Kind
from cauce.sql_frontend.catalogue import Catalogue, catalogue_of
from cauce.sql_frontend.dataset import sql_dataset
from tests.sql_frontend.expressions import same

KINDS: dict[str, Kind] = {
    "BIGINT": Integer(),
    "DECIMAL(18,2)": Fixed(2),
    "DOUBLE": Float(),
    "VARCHAR": Text(),
    "BOOLEAN": Boolean(),
    "DATE": Date(),
    "TIMESTAMP": Timestamp(),
}
ARROW: dict[str, pa.DataType] = {
    "BIGINT": pa.int64(),
    "DECIMAL(18,2)": pa.decimal128(18, 2),
    "DOUBLE": pa.float64(),
    "VARCHAR": pa.string(),
    "BOOLEAN": pa.bool_(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
}
Schema = Mapping[str, Mapping[str, str]]
"""The SQL type of each column of each table."""


@dataclass
class Both:
    """Tables as CSV files and in DuckDB. `part_bytes` is small so that tables have several parts. With `row_weight` the
    planner takes a table for so many times larger, and joins it as it would join a large one."""

    folder: Path
    schema: Schema
    rows: Mapping[str, Sequence[Sequence[Any]]]
    part_bytes: int = 200
    row_weight: int = 1
    memory: MemoryBudget | None = None
    catalogue: Catalogue = field(init=False)
    duckdb: duckdb.DuckDBPyConnection = field(init=False)

    def __post_init__(self) -> None:
        self.duckdb = duckdb.connect()
        tables = []
        for name, columns in self.schema.items():
            tables.append(Table(name, f"{name}.csv", {column: KINDS[kind] for column, kind in columns.items()}))
            self._write(name, columns)
        made = catalogue_of(tables)
        sized = tuple(replace(each, rows=len(self.rows[each.name]) * self.row_weight) for each in made.tables)
        self.catalogue = replace(made, tables=sized)

    def _write(self, name: str, columns: Mapping[str, str]) -> None:
        with open(self.folder / f"{name}.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows([_cell(value) for value in row] for row in self.rows[name])
        declared = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
        self.duckdb.execute(f"CREATE TABLE {name} ({declared})")
        insert(self.duckdb, name, columns, self.rows[name])

    def frames(self, text: str) -> dict[str, pl.DataFrame]:
        prepared = prepare(sql_dataset(text, self.catalogue), self.folder)
        return dict(run_in_memory(prepared, Settings(threads=2, part_bytes=self.part_bytes, memory=self.memory)))

    def here(self, text: str) -> list[list[Any]]:
        """The rows of the only statement."""
        (frame,) = self.frames(text).values()
        return [list(row) for row in frame.rows()]

    def there(self, text: str) -> list[list[Any]]:
        return [list(row) for row in self.duckdb.execute(text).fetchall()]

    def check(self, text: str, ordered: bool = False) -> None:
        """Compares the rows; in their order if the query determines it."""
        here, there = self.here(text), self.there(text)
        if not ordered:
            here, there = sorted(here, key=_key), sorted(there, key=_key)
        assert len(here) == len(there), f"{text}\nhere {here[:5]}\nthere {there[:5]}"
        for one, other in zip(here, there, strict=True):
            assert all(map(alike, one, other)), f"{text}\nhere {one}\nthere {other}"


def insert(
    connection: duckdb.DuckDBPyConnection, table: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]
) -> None:
    """Adds rows to a table of DuckDB, as one Arrow table: a statement for each row takes milliseconds."""
    values = zip(*rows, strict=True) if rows else ([] for _ in columns)
    arrays = [pa.array(each, ARROW[kind]) for each, kind in zip(values, columns.values(), strict=True)]
    connection.register("added", pa.Table.from_arrays(arrays, names=list(columns)))
    connection.execute(f"INSERT INTO {table} FROM added")
    connection.unregister("added")


def alike(one: Any, other: Any) -> bool:
    """Equal values. An exact number equals another one of another type; floats may differ by rounding."""
    numbers = (int, float, PyDecimal)
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, numbers) and isinstance(other, numbers):
        if isinstance(one, float) or isinstance(other, float):
            return same(float(one), float(other)) or abs(float(one) - float(other)) <= 1e-9 * abs(float(other))
        return one == other
    return same(one, other)


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat(" ") if isinstance(value, dt.datetime) else value


def _key(row: Sequence[Any]) -> list[tuple[bool, str, float, str]]:
    """An order of rows of any types in which numbers compare as numbers."""
    made = []
    for value in row:
        number = isinstance(value, int | float | PyDecimal) and not isinstance(value, bool)
        made.append(
            (
                value is None,
                "n" if number else "t",
                round(float(value), 6) if number else 0.0,
                "" if number else str(value),
            )
        )
    return made
