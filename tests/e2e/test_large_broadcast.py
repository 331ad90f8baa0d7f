"""Joins that a dataset declares as broadcasts, with sides that exceed the memory of a worker: they are partitioned."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

from cauce.datasets import load
from cauce.job.manifest import Manifest, load_manifest
from cauce.plan.physical import Plan
from cauce.process.memory_limit import MemoryBudget
from cauce.runner.in_process import Settings
from cauce.runner.sinks import prepare, run_in_memory

DATASET = """
from pathlib import Path

import polars as pl

from cauce.plan import INTEGER, TEXT, Dataset, Integer, Relation, Table, Text, agg

sales = Table("sales", "sales.csv", {"item": Integer(), "amount": Integer()})
items = Table("items", "items.csv", {"item": Integer(), "name": Text()})
dataset = Dataset("shop", (sales, items), source=Path(__file__))


@dataset.query(name=TEXT, n=INTEGER, amount=INTEGER)
def by_name() -> Relation:
    named = items.with_columns(name=pl.col("name").str.head(6))
    joined = sales.join(named, on="item", strategy="broadcast")
    return joined.group_by("name").agg(n=agg.count(), amount=agg.sum("amount")).sort("name")


@dataset.query(item=INTEGER, amount=INTEGER)
def without_item() -> Relation:
    return sales.join(items, on="item", how="anti", strategy="broadcast").sort("item", "amount")


@dataset.query(n=INTEGER)
def of_some() -> Relation:
    some = items.filter(pl.col("item") < 10)
    return sales.join(some, on="item", how="semi", strategy="broadcast").agg(n=agg.count())
"""
EXPECTED = {
    "by_name": "SELECT left(name, 6) AS name, count(*), sum(amount) FROM sales JOIN items USING (item) "
    "GROUP BY ALL ORDER BY 1",
    "without_item": "SELECT item, amount FROM sales ANTI JOIN items USING (item) ORDER BY 1, 2",
    "of_some": "SELECT count(*) FROM sales WHERE item IN (SELECT item FROM items WHERE item < 10)",
}
MEMORY = MemoryBudget(100_000_000 + 3 * 20_000)
"""20,000 bytes for broadcast inputs."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    (folder / "shop.py").write_text(DATASET)
    rng = np.random.default_rng(1)
    pl.DataFrame({"item": rng.integers(0, 3000, 2_000), "amount": rng.integers(0, 99, 2_000)}).write_csv(
        folder / "sales.csv"
    )
    names = [f"name {number % 50} of an item" for number in range(2_000)]
    pl.DataFrame({"item": rng.permutation(2_500)[:2_000], "name": names}).write_csv(folder / "items.csv")
    return folder


def broadcasts(plan: Plan) -> int:
    return sum(edge.spread == "broadcast" for edge in plan.edges.values())


def expected(query: str, data: Path) -> list[tuple[str, ...]]:
    with duckdb.connect() as other:
        for table in ("sales", "items"):
            other.execute(f"CREATE TABLE {table} AS FROM read_csv('{data / table}.csv')")
        return [tuple(map(str, row)) for row in other.execute(EXPECTED[query]).fetchall()]


@pytest.mark.parametrize("query", EXPECTED)
def test_answer_is_that_of_duckdb(query: str, data: Path) -> None:
    prepared = prepare(load(str(data / "shop.py")), data, [query], {}, 2, MEMORY.broadcast_bytes)
    found = run_in_memory(prepared, Settings(2, 4_000, memory=MEMORY))[query]
    assert [tuple(map(str, row)) for row in found.rows()] == expected(query, data)


def test_sides_with_all_rows_of_a_large_table_are_partitioned(data: Path) -> None:
    dataset = load(str(data / "shop.py"))
    assert broadcasts(prepare(dataset, data, ["by_name", "without_item"], {}, 2).plan)
    assert not broadcasts(prepare(dataset, data, ["by_name", "without_item"], {}, 2, MEMORY.broadcast_bytes).plan)


def test_sides_of_small_tables_and_filtered_ones_stay_broadcasts(data: Path) -> None:
    dataset = load(str(data / "shop.py"))
    assert broadcasts(prepare(dataset, data, ["by_name"], {}, 2, 1 << 30).plan)
    assert broadcasts(prepare(dataset, data, ["of_some"], {}, 2, MEMORY.broadcast_bytes).plan)


def test_every_process_plans_what_the_manifest_says(data: Path) -> None:
    name = str(data / "shop.py")
    made = prepare(load(name), data, ["by_name"], {}, 2, MEMORY.broadcast_bytes)
    manifest = Manifest("j", name, ("by_name",), {}, 2, 2, made.plan.digest, large=made.large)
    stored = load_manifest(manifest.dump())
    assert stored.large == ("items", "sales")
    assert load(name).plan(stored.queries, stored.parameters, 2, stored.large).digest == made.plan.digest


def test_a_run_with_little_memory_gives_the_same_bytes(data: Path, tmp_path: Path) -> None:
    large = tmp_path / "data"
    large.mkdir()
    (large / "shop.py").write_text(DATASET)
    rows = 600_000
    names = pl.format("name {} of an item with a long text that fills the memory of a worker", pl.col("item") % 50)
    pl.DataFrame({"item": np.arange(rows)}).with_columns(names.alias("name")).write_csv(large / "items.csv")
    pl.DataFrame({"item": np.arange(0, rows, 7), "amount": 3}).write_csv(large / "sales.csv")
    made = []
    for number, options in enumerate(([], ["--memory", "330MB"])):
        out = tmp_path / f"out{number}"
        command = [sys.executable, "-m", "cauce", "run", str(large / "shop.py"), "--data", str(large), "--queries",
                   "by_name,without_item", "--out", str(out), "--workers", "2", *options]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, env=os.environ)
        made.append({file.name: file.read_bytes() for file in out.glob("*.csv")})
    assert made[0] == made[1]
    assert len(made[0]["by_name.csv"]) > 100
