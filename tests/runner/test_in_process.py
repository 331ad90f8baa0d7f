"""A run in one process: the answers do not depend on the order and duplication of parts."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import polars as pl
import pytest

from cauce.operators.order import POSITION
from cauce.plan import (
    FLOAT,
    INTEGER,
    TEXT,
    Dataset,
    Float,
    Integer,
    Relation,
    Table,
    Text,
    agg,
    desc,
)
from cauce.runner.in_process import LocalRun, Settings
from cauce.runner.sinks import Answers, Memory, Silent, prepare
from cauce.scan.parts import Part
from tests.plan.tiny import write

pytestmark = pytest.mark.slow

sales = Table("sales", "sales_*.csv", {"shop": Text(), "item": Text(), "sold": Integer(), "price": Float()})
shops = Table("shops", "shops.csv", {"shop": Text(), "town": Text()}, small=True)
dataset = Dataset("shopping", (sales, shops))


@dataset.query(item=TEXT, sold=INTEGER)
def rows() -> Relation:
    """Rows in input order"""
    return sales.filter(pl.col("sold") > 2).in_input_order()


@dataset.query(town=TEXT, price=FLOAT, first=TEXT, items=INTEGER, middle=FLOAT)
def towns() -> Relation:
    """Aggregates after a join"""
    return (
        sales.join(shops, on="shop")
        .group_by("town")
        .agg(
            price=agg.sum("price"),
            first=agg.first("item"),
            items=agg.n_unique("item"),
            middle=agg.quantile("price", 0.9),
        )
        .sort("town")
    )


@dataset.query(shop=TEXT, item=TEXT, n=INTEGER)
def tops() -> Relation:
    """The first of each shop, and how many there are"""
    counts = sales.group_by("shop").agg(n=agg.count())
    best = sales.top_k(2, by=[desc("sold"), POSITION], per="shop")
    return best.join(counts, on="shop", strategy="partition").sort("shop", desc("sold"), "item")


@dataset.query(item=TEXT)
def above() -> Relation:
    """Above the mean, which takes a second pass"""
    means = sales.agg(all_sold=agg.sum("sold"), all_rows=agg.count("sold"))
    return (
        sales.with_scalars(means)
        .filter(pl.col("sold") * pl.col("all_rows") > pl.col("all_sold"))
        .select("item")
        .in_input_order()
    )


Reorder = Callable[[Iterator[Part]], Iterable[Part]]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    rng = random.Random(1)
    lines = []
    for number in range(60):
        sold = rng.choice(["", "x", *map(str, range(9))])
        price = rng.choice(["", "1e", "0.1", "1000000", "0.000001", "-0.3"])
        lines.append(f"{rng.choice(['n', 's', 'e', ''])},item {number},{sold},{price}\n")
    lines[13] = "broken\n"
    header = "shop,item,sold,price\n"
    texts = {f"sales_{file}": header + "".join(lines[file * 20 : file * 20 + 20]) for file in range(3)}
    return write(folder, shops="shop,town\nn,here\ns,there\ns,nowhere\n", **texts)


def answers(data: Path, reorder: Reorder, part_bytes: int = 60, partitions: int = 3) -> Answers:
    prepared = prepare(dataset, data, partitions=partitions)
    sink = Memory()
    LocalRun(prepared.plan, prepared.files, sink, Silent(), Settings(2, part_bytes), reorder).run()
    return sink.answers(prepared.plan)


def as_they_come(parts: Iterator[Part]) -> Iterable[Part]:
    return parts


def backwards(parts: Iterator[Part]) -> Iterable[Part]:
    return reversed(list(parts))


def twice(parts: Iterator[Part]) -> Iterable[Part]:
    return [part for part in parts for _ in range(2)]


def shuffled(seed: int) -> Reorder:
    def reorder(parts: Iterator[Part]) -> Iterable[Part]:
        rng = random.Random(seed)
        some = list(parts)
        some += rng.choices(some, k=len(some) // 2)
        rng.shuffle(some)
        return some

    return reorder


def same(one: Answers, other: Answers) -> bool:
    equal = all(repr(one[query].rows()) == repr(other[query].rows()) for query in one)
    return equal and one.keys() == other.keys() and one.rejects.rows() == other.rejects.rows()


@pytest.fixture(scope="module")
def expected(data: Path) -> Answers:
    return answers(data, as_they_come, part_bytes=2**20, partitions=1)


def test_the_answers_are_not_empty(expected: Answers) -> None:
    assert all(frame.height for frame in expected.values())
    assert expected.rejects.height > 1


@pytest.mark.parametrize("part_bytes", [1, 60, 500])
def test_the_size_of_the_parts_changes_nothing(data: Path, expected: Answers, part_bytes: int) -> None:
    assert same(answers(data, as_they_come, part_bytes), expected)


@pytest.mark.parametrize("partitions", [1, 2, 5])
def test_the_number_of_partitions_changes_nothing(data: Path, expected: Answers, partitions: int) -> None:
    assert same(answers(data, as_they_come, partitions=partitions), expected)


def test_parts_that_come_backwards_change_nothing(data: Path, expected: Answers) -> None:
    assert same(answers(data, backwards), expected)


def test_parts_that_come_twice_change_nothing(data: Path, expected: Answers) -> None:
    assert same(answers(data, twice), expected)


@pytest.mark.parametrize("seed", range(5))
def test_parts_shuffled_and_repeated_change_nothing(data: Path, expected: Answers, seed: int) -> None:
    assert same(answers(data, shuffled(seed)), expected)
