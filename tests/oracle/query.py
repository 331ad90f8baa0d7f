"""The interface of a dataset's module: its tables, and for each query its columns and its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import duckdb

from tests.oracle.render import Row
from tests.oracle.sentiment import Scorer
from tests.oracle.tables import Table

Connection: TypeAlias = duckdb.DuckDBPyConnection


@dataclass(frozen=True)
class Query:
    """``answer`` finds the rows in the query's order; ``columns`` are their names in the result."""

    columns: tuple[str, ...]
    answer: Callable[[Connection, Scorer], list[Row]]


@dataclass(frozen=True)
class Dataset:
    tables: tuple[Table, ...]
    queries: Mapping[str, Query]
