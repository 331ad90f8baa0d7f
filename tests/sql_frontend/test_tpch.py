"""The 22 queries of TPC-H from their SQL text, value for value against DuckDB."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from bench.tpch import queries, script, tables
from bench.tpch.suite import generated
from cauce.runner.answers import Answers
from cauce.runner.sinks import prepare, run_in_memory
from cauce.sql_frontend.catalogue import Catalogue, catalogue_of
from cauce.sql_frontend.dataset import sql_dataset
from tests.sql_frontend.runs import alike

pytestmark = pytest.mark.slow

SCALE = 0.1
QUERIES = queries()
SCRIPT = script()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generated(tmp_path_factory.mktemp("tpch"), SCALE)


@pytest.fixture(scope="module")
def reference(folder: Path) -> duckdb.DuckDBPyConnection:
    kinds = {"Int64": "BIGINT", "String": "VARCHAR", "Date": "DATE"}
    connection = duckdb.connect()
    for table in catalogue_of(tables()).tables:
        declared = ", ".join(f"{name} {kinds.get(str(kind.dtype), str(kind))}" for name, kind in table.columns.items())
        connection.execute(f"CREATE TABLE {table.name} ({declared})")
        file = folder / f"{table.name}.csv"
        connection.execute(f"INSERT INTO {table.name} SELECT * FROM read_csv('{file}', header=true, all_varchar=true)")
    return connection


@pytest.fixture(scope="module")
def catalogue(reference: duckdb.DuckDBPyConnection) -> Catalogue:
    made = catalogue_of(tables())
    return Catalogue(tuple(replace(each, rows=_rows(reference, each.name)) for each in made.tables))


def _rows(connection: duckdb.DuckDBPyConnection, table: str) -> int:
    found = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    assert found is not None
    return int(found[0])


@pytest.fixture(scope="module")
def answers(folder: Path, catalogue: Catalogue) -> Answers:
    """All queries as one job."""
    return run_in_memory(prepare(sql_dataset(SCRIPT, catalogue), folder))


@pytest.mark.parametrize("name", QUERIES)
def test_query_equals_duckdb(answers: Answers, reference: duckdb.DuckDBPyConnection, name: str) -> None:
    rows, expected = answers[name].rows(), reference.execute(QUERIES[name]).fetchall()
    assert len(rows) == len(expected) > 0
    for row, wanted in zip(rows, expected, strict=True):
        assert all(map(alike, row, wanted)), (row, wanted)


def test_all_queries_read_lineitem_at_most_twice(catalogue: Catalogue) -> None:
    plan = sql_dataset(SCRIPT, catalogue).plan()
    passes = [stage for stage in plan.stages if stage.table is not None and stage.table.name == "lineitem"]
    assert 1 <= len(passes) <= 2
