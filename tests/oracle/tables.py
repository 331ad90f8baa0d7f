"""Reads a table's files into a DuckDB table of typed rows, and keeps what could not be read.

For each query there is a view ``<table>_<query>`` of the rows that may take part in it; the table itself has
every record that could be cut into cells. Nothing here knows what a query asks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa

from tests.oracle import files
from tests.oracle.cells import Kind, Value
from tests.oracle.reader import Record, read, shortened


class Reject(NamedTuple):
    """One row of the rejects table, its fields in the order in which the table is sorted."""

    file: str
    line: int
    column: str
    reason: str
    raw: str


@dataclass(frozen=True)
class Table:
    """A table of the contract: its files, the kinds of its columns, and which query uses which of them."""

    name: str
    files: files.Files
    kinds: Mapping[str, Kind]
    uses: Mapping[str, tuple[str, ...]]
    required: tuple[str, ...] = ()
    """Cells that must be present, readable or not, for a row to take part in any query."""
    delimiter: str = ","
    nulls: frozenset[str] = frozenset({""})


class _Loading:
    """The columns of a table while its files are read one after the other."""

    def __init__(self, table: Table, columns: list[str]) -> None:
        self.table = table
        self.columns: dict[str, list[Value | None]] = {column: [] for column in columns}
        self.complete: list[bool] = []
        self.bad: list[list[str]] = []
        self.rejects: list[Reject] = []

    def add_file(self, path: Path, data: Path) -> None:
        name = path.relative_to(data).as_posix()
        sheet = read(files.content(path), self.table.delimiter)
        missing = {*self.columns, *self.table.required} - {*sheet.header}
        if missing:
            raise ValueError(f"{name} has no column {sorted(missing)}")
        index = {column: at for at, column in reversed(list(enumerate(sheet.header)))}
        self.rejects += [Reject(name, bad.line, "", bad.reason, bad.raw) for bad in sheet.rejects]
        for record in sheet.records:
            self._add_record(name, record, index)

    def _add_record(self, file: str, record: Record, index: Mapping[str, int]) -> None:
        nulls = self.table.nulls
        bad = []
        for column, values in self.columns.items():
            text = record.cells[index[column]]
            kind = self.table.kinds[column]
            value = None
            try:
                value = None if text in nulls else kind.parse(text)
            except ValueError:
                bad.append(column)
                self.rejects.append(Reject(file, record.line, column, kind.reason, shortened(text)))
            values.append(value)
        self.bad.append(bad)
        self.complete.append(all(record.cells[index[column]] not in nulls for column in self.table.required))

    def arrow(self) -> pa.Table:
        arrays = {
            "pos": pa.array(range(len(self.bad)), pa.int64()),
            "complete": pa.array(self.complete, pa.bool_()),
            "bad": pa.array(self.bad, pa.list_(pa.string())),
        }
        for column, values in self.columns.items():
            arrays[column] = pa.array(values, self.table.kinds[column].stored_as)
        return pa.table(arrays)


def load(con: duckdb.DuckDBPyConnection, table: Table, data: Path, queries: Collection[str]) -> list[Reject]:
    """Create the table and its views as far as ``queries`` need them; returns what could not be read."""
    chosen = {query: columns for query, columns in table.uses.items() if query in queries}
    if not chosen:
        return []
    wanted = {column for columns in chosen.values() for column in columns}
    loading = _Loading(table, [column for column in table.kinds if column in wanted])
    for path in files.find(table.files, data):
        loading.add_file(path, data)
    con.register("staged", loading.arrow())
    con.execute(f"CREATE TABLE {table.name} AS SELECT * FROM staged")
    con.unregister("staged")
    for query, columns in chosen.items():
        used = ", ".join(f"'{column}'" for column in columns)
        con.execute(
            f"CREATE VIEW {table.name}_{query} AS "
            f"SELECT * FROM {table.name} WHERE complete AND NOT list_has_any(bad, [{used}])"
        )
    return loading.rejects
