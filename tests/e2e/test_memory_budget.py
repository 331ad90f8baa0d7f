"""Answers within a memory budget: the same as without one and as DuckDB's, or an error that names the cause."""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import duckdb
import polars as pl
import pytest

from cauce.errors import MemoryExceeded
from cauce.process.memory_limit import FOLD_FACTOR, MemoryBudget
from cauce.runner.in_process import Settings
from cauce.runner.sinks import prepare, run_in_memory
from cauce.runner.sql_source import Given, source_of
from cauce.schema import DatasetSchema
from cauce.sql_frontend.dataset import dataset_of

LIBRARIES = 100_000_000

STATEMENTS = {
    "groups": "SELECT k, count(*) AS n, sum(v) AS s, min(t) AS t FROM a GROUP BY k ORDER BY s DESC, k",
    "distinct of one key": "SELECT one, count(DISTINCT v) AS n FROM a GROUP BY one",
    "mode of one key": "SELECT one, mode(v % 7) AS m FROM a WHERE v % 7 < 3 OR k = 2 GROUP BY one",
    "median of all": "SELECT median(v) AS m, quantile_cont(v, 0.3) AS q, count(*) AS n, sum(v) AS s FROM a",
    "quantiles of one key": "SELECT one, quantile_disc(t, 0.7) AS q, median(v) AS m, max(t) AS x FROM a GROUP BY one",
    "median of each": "SELECT k, median(v) AS m, quantile_disc(t, 0.2) AS q FROM a GROUP BY k ORDER BY k",
    "join": "SELECT a.k, a.v, b.w FROM a JOIN b ON a.k = b.k ORDER BY 1, 2, 3",
    "left join on one key": "SELECT a.one, count(*) AS n, sum(b.w) AS s FROM a LEFT JOIN b ON a.one = b.one GROUP BY 1",
    "anti join": "SELECT v FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.one = a.one AND b.w = a.v) ORDER BY v",
    "window": "SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v, t) AS r FROM a ORDER BY k, v, r",
    "top of each": "SELECT k, v FROM a QUALIFY row_number() OVER (PARTITION BY k ORDER BY v, t) = 1 ORDER BY 1",
    "set operations": "SELECT k FROM a INTERSECT SELECT k FROM b ORDER BY k",
    "union": "SELECT count(*) AS n, sum(v) AS s FROM (SELECT v FROM a UNION ALL SELECT w FROM b)",
    "sorted": "SELECT t, v, k FROM a ORDER BY t DESC, v, k",
}  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    rng = random.Random(1)
    rows = [(rng.randrange(40), rng.randrange(300), 1, f"text {rng.randrange(99)}") for _ in range(900)]
    pl.DataFrame(rows, ["k", "v", "one", "t"], orient="row").write_csv(folder / "a.csv")
    others = [(rng.randrange(20, 60), rng.randrange(200), 1) for _ in range(120)]
    pl.DataFrame(others, ["k", "w", "one"], orient="row").write_csv(folder / "b.csv")
    return folder


def budget(fold_bytes: int) -> MemoryBudget:
    return MemoryBudget(LIBRARIES + 2 * FOLD_FACTOR * fold_bytes)


def answer(sql: str, data: Path, memory: MemoryBudget | None) -> pl.DataFrame:
    source = source_of(sql, data, Given(DatasetSchema(), {}), lambda note: None)
    prepared = replace(prepare(dataset_of(source, {}), data, None, {}, 2), sql=source)
    return run_in_memory(prepared, Settings(2, 2_000, memory=memory))["q1"]


@pytest.mark.parametrize("fold_bytes", [700, pytest.param(3_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [name for name in STATEMENTS if name != "window" and name != "top of each"])
def test_answer_is_that_without_a_budget_and_that_of_duckdb(name: str, fold_bytes: int, data: Path) -> None:
    sql = STATEMENTS[name]
    within = answer(sql, data, budget(fold_bytes))
    assert within.equals(answer(sql, data, None))
    with duckdb.connect() as other:
        for file in data.glob("*.csv"):
            other.execute(f"CREATE TABLE {file.stem} AS FROM read_csv('{file}')")
        assert [tuple(map(str, row)) for row in within.rows()] == [
            tuple(map(str, row)) for row in other.execute(sql).fetchall()
        ]


@pytest.mark.parametrize("name", ["window", "top of each"])
def test_windows_are_split_by_their_keys(name: str, data: Path) -> None:
    assert answer(STATEMENTS[name], data, budget(2_000)).equals(answer(STATEMENTS[name], data, None))


WHOLE = {
    "window of one key": (
        "SELECT v, row_number() OVER (PARTITION BY one ORDER BY v, t) AS r FROM a",
        r"window by one, partition \d: the rows with one = 1 exceed .* 'window .* needs them at once",
    ),
    "window of all rows": (
        "SELECT v, sum(v) OVER (ORDER BY v, t, k) AS r FROM a",
        r"answer q1, partition 0: its rows exceed .* 'window .* needs them at once",
    ),
    "list of one key": (
        "SELECT one, CAST(list(v ORDER BY v) AS VARCHAR) AS l FROM a GROUP BY one",
        r"group by one, partition \d: the rows with one = 1 exceed .* 'final list=.* needs them at once",
    ),
    "list of all rows": (
        "SELECT CAST(list(v ORDER BY v) AS VARCHAR) AS l FROM a",
        r"answer q1, .*: its rows exceed .* 'final list=.* needs them",
    ),
    "texts of one key": (
        "SELECT one, string_agg(t, ',' ORDER BY t) AS l FROM a GROUP BY one",
        r"the rows with one = 1 exceed .* needs them at once",
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_step_that_needs_all_rows_of_a_key_fails_with_the_key(name: str, data: Path) -> None:
    sql, cause = WHOLE[name]
    with pytest.raises(MemoryExceeded, match=cause) as found:
        answer(sql, data, budget(1_000))
    assert "give more with --memory, start fewer workers, or filter the rows before this step" in str(found.value)
    # Up to the whole memory of a worker it is computed at once.
    assert answer(sql, data, budget(100_000)).equals(answer(sql, data, None))


def test_lists_of_several_keys_are_split_by_their_keys(data: Path) -> None:
    lists = "CAST(list(v ORDER BY v) AS VARCHAR) AS l, string_agg(t, ',' ORDER BY t) AS s"
    sql = f"SELECT k, {lists} FROM a GROUP BY k ORDER BY k"
    assert answer(sql, data, budget(2_000)).equals(answer(sql, data, None))


@pytest.mark.parametrize("how", ["JOIN", "LEFT JOIN", "SEMI JOIN", "ANTI JOIN"])
def test_a_broadcast_side_that_exceeds_the_memory_is_joined_in_blocks(how: str, data: Path) -> None:
    sql = f"SELECT count(*) AS n, sum(v) AS s FROM a {how} b ON a.v < b.w"
    assert answer(sql, data, budget(50)).equals(answer(sql, data, None))


def test_too_little_memory_is_refused(data: Path) -> None:
    command = [sys.executable, "-m", "cauce", "sql", "SELECT 1 AS x", "--memory", "10MB"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=data)
    assert done.returncode == 2
    assert "each needs at least" in done.stderr
