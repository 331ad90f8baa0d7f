"""The tables that a statement may use: the SQL type of every column, and the plan's table that reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from cauce.plan.relation import Table
from cauce.scan.cells.kinds import Decimal, Duration, Fixed, Identifier, Json, Kind
from cauce.schema import DatasetSchema, table_of
from cauce.schema.types import MOST_DIGITS
from cauce.sql_frontend import types
from cauce.sql_frontend.types import SqlType


@dataclass(frozen=True)
class CatalogueTable:
    """`rows` is an estimate of the number of rows, for the choice of join sides; 0 if unknown."""

    name: str
    columns: dict[str, SqlType]
    table: Table
    rows: int = 0


@dataclass(frozen=True)
class Catalogue:
    tables: tuple[CatalogueTable, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    """The table of each path or pattern that a statement may name, as in FROM 'orders_*.csv'."""

    @cached_property
    def by_name(self) -> dict[str, CatalogueTable]:
        return {table.name.lower(): table for table in self.tables}

    def find(self, name: str) -> CatalogueTable | None:
        return self.by_name.get(self.files.get(name, name).lower())

    @property
    def names(self) -> list[str]:
        return [table.name for table in self.tables]


def catalogue_of(tables: Iterable[Table]) -> Catalogue:
    """The catalogue of tables that are declared in Python."""
    return Catalogue(
        tuple(
            CatalogueTable(
                table.spec.name,
                {name: type_of(column.kind) for name, column in table.spec.columns.items()},
                table,
            )
            for table in tables
        )
    )


def catalogue_of_schema(
    schema: DatasetSchema, rows: Mapping[str, int] | None = None, patterns: Mapping[str, str] | None = None
) -> Catalogue:
    """The catalogue of tables without a declaration. `rows` are estimates by table, `patterns` names by path."""
    tables = []
    for each in schema.tables:
        columns = {column.name: type_of(column.column_type.kind) for column in each.columns}
        tables.append(CatalogueTable(each.name, columns, table_of(each), (rows or {}).get(each.name, 0)))
    return Catalogue(tuple(tables), dict(patterns or {}))


def type_of(kind: Kind) -> SqlType:
    """The SQL type of a kind of cells."""
    if isinstance(kind, Json):
        return type_of(kind.kind)
    if isinstance(kind, Fixed):
        return types.decimal(18, kind.places)
    if isinstance(kind, Decimal):
        return types.decimal(38, 18) if kind.places is None else types.decimal(MOST_DIGITS, kind.places)
    if isinstance(kind, Duration | Identifier):
        return types.BIGINT
    return _BY_DTYPE[str(kind.dtype)]


_BY_DTYPE = {
    str(kind.dtype): kind
    for kind in (
        types.BOOLEAN,
        types.BIGINT,
        types.DOUBLE,
        types.VARCHAR,
        types.DATE,
        types.TIME,
        types.TIMESTAMP,
        types.TIMESTAMPTZ,
        types.list_of(types.VARCHAR),
    )
}
