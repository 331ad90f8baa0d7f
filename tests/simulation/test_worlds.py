"""The expected answers of the simulation equal those of an independent implementation, byte for byte."""

from __future__ import annotations

import csv
import io
from itertools import chain
from pathlib import Path

import duckdb
import pytest

from cauce.datasets import BUILT_IN
from cauce.lab.chaos.simulate import WORLDS, expected
from cauce.lab.chaos.simulated_jobs import JOBS
from cauce.lab.chaos.sql_shop import SHOP, SHOP_JOBS
from cauce.lab.chaos.worlds import World, world
from cauce.sql_frontend.dataset import NAME as SQL
from cauce.sql_frontend.parse import parse
from tests.oracle.api import answer

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, WORLDS))]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dataset", BUILT_IN)
def test_a_run_without_faults_equals_the_oracle(dataset: str, seed: int, tmp_path: Path) -> None:
    world(dataset, seed).write(tmp_path)
    wanted = answer(dataset, tmp_path)
    for query in chain(*(queries for each, queries in JOBS if each == dataset)):
        rows = wanted[query].decode().split("\n", 1)[1]
        assert rows, f"{query} has no rows: a fault could not be seen in it"
        assert expected(dataset, (query,), seed)[query] == rows


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("queries", SHOP_JOBS, ids="+".join)
def test_sql_without_faults_equals_duckdb(queries: tuple[str, ...], seed: int) -> None:
    answers = expected(SQL, queries, seed)
    with shop_in_duckdb(world(SQL, seed)) as other:
        for query, text in statements().items():
            if query in queries:
                rows = other.execute(text).fetchall()
                assert rows, f"{query} has no rows: a fault could not be seen in it"
                assert answers[query] == as_csv(rows)


def statements() -> dict[str, str]:
    script = parse(SHOP.text)
    ends = [each.start for each in script.statements[1:]] + [len(SHOP.text)]
    texts = (SHOP.text[each.start : end] for each, end in zip(script.statements, ends, strict=True))
    return {each.name: text.split(";")[0] for each, text in zip(script.statements, texts, strict=True)}


def shop_in_duckdb(made: World) -> duckdb.DuckDBPyConnection:
    """The tables without their malformed lines, whose number of cells differs."""
    kinds = {"integer": "BIGINT", "text": "VARCHAR", "float": "DOUBLE"}
    connection = duckdb.connect()
    for table in SHOP.schema.tables:
        declared = ", ".join(f"{each.name} {kinds.get(each.type, each.type)}" for each in table.columns)
        connection.execute(f"CREATE TABLE {table.name} ({declared})")
        for name, data in made.files.items():
            if name.startswith(table.path):
                _, *rows = csv.reader(io.StringIO(data.decode()))
                kept = [[cell or None for cell in row] for row in rows if len(row) == len(table.columns)]
                marks = ", ".join("?" for _ in table.columns)
                connection.executemany(f"INSERT INTO {table.name} VALUES ({marks})", kept)
    return connection


def as_csv(rows: list[tuple[object, ...]]) -> str:
    """One line for each row, as answers are written."""

    def cell(value: object) -> str:
        if value is None:
            return ""
        return str(value).lower() if isinstance(value, bool) else str(value)

    return "".join(",".join(map(cell, row)) + "\n" for row in rows)
