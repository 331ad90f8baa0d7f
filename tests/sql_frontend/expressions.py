"""Evaluates SQL expressions here and in DuckDB, over the same rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import duckdb
import polars as pl

from cauce.plan import Table, Text
from cauce.sql_frontend.binding.queries import QueryBinder
from cauce.sql_frontend.binding.scope import Names
from cauce.sql_frontend.catalogue import Catalogue, CatalogueTable
from cauce.sql_frontend.parse import parse
from cauce.sql_frontend.problems import SqlError, StatementError
from cauce.sql_frontend.translate import Translator
from cauce.sql_frontend.tree import Project
from cauce.sql_frontend.types import SqlType

Rows = Sequence[Sequence[Any]]


class Frame:
    """A table of typed rows, in memory here and in DuckDB."""

    def __init__(self, columns: dict[str, SqlType], rows: Rows) -> None:
        self.columns = columns
        schema = {name: kind.dtype for name, kind in columns.items()}
        self.frame = pl.DataFrame([list(row) for row in rows], schema=schema, orient="row")
        table = Table("t", "t.csv", dict.fromkeys(columns, Text()))
        self.catalogue = Catalogue((CatalogueTable("t", dict(columns), table),))
        self.duckdb = duckdb.connect()
        declared = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        self.duckdb.execute(f"CREATE TABLE t ({declared})")
        if rows:
            marks = ", ".join("?" for _ in columns)
            self.duckdb.executemany(f"INSERT INTO t VALUES ({marks})", [list(row) for row in rows])

    def here(self, expression: str) -> tuple[list[Any], SqlType]:
        """The values of an expression, one per row, and its type."""
        text = f"SELECT {expression} AS value FROM t"
        script = parse(text)
        try:
            bound = QueryBinder(self.catalogue, {}, Names()).bind(script.statements[0].tree, None)
            assert isinstance(bound.step, Project)
            _, expr = bound.step.items[0]
            made = self.frame.lazy().with_columns(Translator(str)(expr).alias("#value")).collect()["#value"]
        except StatementError as problem:
            raise SqlError(problem.message, text, problem.at) from None
        return made.to_list(), expr.type

    def there(self, expression: str) -> tuple[list[Any], str]:
        rows = self.duckdb.execute(f"SELECT {expression}, typeof({expression}) FROM t ORDER BY rowid").fetchall()
        kind = rows[0][1] if rows else ""
        return [row[0] for row in rows], kind


def same(one: Any, other: Any) -> bool:
    """Equal values; floats may differ in the last digit."""
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return one == other or math.isclose(one, other, rel_tol=1e-15, abs_tol=0)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other
