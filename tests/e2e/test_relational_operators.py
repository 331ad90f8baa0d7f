"""Joins, windows, set operations and limits of a run with worker processes, compared with DuckDB."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.plan.duck import canonical, duck_rows

DATASET = """
import polars as pl

from cauce import FLOAT, INTEGER, TEXT, Dataset, Integer, Relation, Table, Text, agg, desc, window

sales = Table("sales", "sales.csv", {"shop": Text(), "item": Integer(), "paid": Integer()})
prices = Table("prices", "prices.csv", {"item": Integer(), "price": Integer()})
dataset = Dataset("operators", (sales, prices))


@dataset.query(shop=TEXT, item=INTEGER, paid=INTEGER, price=INTEGER)
def joined() -> Relation:
    return sales.join(prices, on="item", how="full", where=pl.col("paid") < pl.col("price"))


@dataset.query(shop=TEXT, item=INTEGER, n=INTEGER, so_far=INTEGER)
def numbered() -> Relation:
    groups = sales.group_by("shop", "item", nulls=True).agg(paid=agg.sum("paid", min_count=1))
    order = [desc("paid"), "item"]
    return groups.window(partition_by="shop", order_by=order, n=window.row_number(), so_far=window.sum("paid"))


@dataset.query(item=INTEGER)
def without_price() -> Relation:
    return sales.select("item").difference(prices.select("item"), distinct=False)


@dataset.query(item=INTEGER, spread=FLOAT)
def widest() -> Relation:
    return sales.group_by("item").agg(spread=agg.var("paid")).limit(5, by=[desc("spread"), "item"], offset=2)
"""
QUERIES = {
    "joined": """
        SELECT sales.shop, coalesce(sales.item, prices.item), paid, price
        FROM sales FULL JOIN prices ON sales.item = prices.item AND paid < price""",
    "numbered": """
        SELECT shop, item, row_number() OVER w, sum(paid) OVER w
        FROM (SELECT shop, item, sum(paid) AS paid FROM sales GROUP BY shop, item)
        WINDOW w AS (PARTITION BY shop ORDER BY paid DESC NULLS LAST, item)""",
    "without_price": "SELECT item FROM sales EXCEPT ALL SELECT item FROM prices",
    "widest": """
        SELECT item, var_samp(paid) AS spread FROM sales GROUP BY item
        ORDER BY spread DESC NULLS LAST, item LIMIT 5 OFFSET 2""",
}


def frames() -> dict[str, pl.DataFrame]:
    rng = random.Random(11)
    sales = {
        "shop": [rng.choice(["a", "b", "c", None]) for _ in range(400)],
        "item": [rng.randrange(30) for _ in range(400)],
        "paid": [rng.choice([None, *range(50)]) for _ in range(400)],
    }
    prices = {"item": range(10, 45), "price": [rng.randrange(60) for _ in range(10, 45)]}
    return {"sales": pl.DataFrame(sales), "prices": pl.DataFrame(prices)}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The answers of a run with two workers, whose parts are of a few rows."""
    folder = tmp_path_factory.mktemp("operators")
    for name, frame in frames().items():
        frame.write_csv(folder / f"{name}.csv")
    (folder / "operators.py").write_text(DATASET)
    options = ["--data", str(folder), "--out", str(folder / "out"), "--workers", "2", "--part-bytes", "500"]
    command = [sys.executable, "-m", "cauce", "run", str(folder / "operators.py"), *options, "--format", "parquet"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder / "out"


@pytest.mark.parametrize("query", QUERIES)
def test_an_answer_of_worker_processes_is_that_of_duckdb(out: Path, query: str) -> None:
    found = pl.read_parquet(out / f"{query}.parquet").rows()
    assert canonical(found) == canonical(duck_rows(frames(), QUERIES[query]))
