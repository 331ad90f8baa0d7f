"""The printed form of a plan."""

from __future__ import annotations

import polars as pl
import pytest

from cauce.datasets import BUILT_IN, load
from cauce.plan import INTEGER, TEXT, Identifier, Table, Text, agg, desc
from cauce.plan.explain import explain, queries_of
from tests.plan.tiny import plan_of

stores = Table("stores", "stores.csv", {"store": Identifier(), "name": Text()}, small=True)
sales = Table("sales", ["sales.csv", "sales_small.csv"], {"store": Identifier(), "amount": Identifier()})
sums = sales.filter(pl.col("amount") > 0).group_by("store").agg(sold=agg.sum("amount"), sales=agg.count())
TINY = plan_of(
    stores,
    sales,
    best=(sums.top_k(3, by=[desc("sold"), "store"]).sort(desc("sold"), "store"), {"store": INTEGER, "sold": INTEGER}),
    named=(sums.join(stores, on="store", how="left").sort("name"), {"name": TEXT, "sales": INTEGER}),
    rows=(sales.in_input_order(), {"amount": INTEGER}),
)

GOLDEN = """\
tiny: best, named, rows
6 stages, 5 edges, 2 partitions, plan <digest>

scan sales  (sales.csv or sales_small.csv, one task for each part)  shared by best, named, rows
    reads amount, store
    e0  filter [(col("amount")) > (dyn int: 0)]; partial sold=sum(amount), sales=count() by store
        ══ by hash of store to 2 partitions ══► group by store
    e5  as it is
        ══ in input order ══► answer rows

scan stores  (stores.csv, one task for each part)  shared by best, named
    reads name, store
    e3  as it is
        ══ broadcast to all tasks ══► group by store

group by store  (2 partitions)  shared by best, named
    e0 arrives, merged on arrival
    e3 arrives
    e1  final sold=sum(amount), sales=count() by store; top 3 by sold desc, store
        ══ to one ══► answer best
    e4  final sold=sum(amount), sales=count() by store; left join with e3 on store
        ══ to one ══► answer named

answer best  (1 partition)  for best
    e1 arrives, reduced to the first 3 on arrival
    top 3 by sold desc, store; sort by sold desc, store; answer store, sold

answer named  (1 partition)  for named
    e4 arrives
    sort by name; answer name, sales

answer rows  (1 partition)  for rows
    e5 arrives
    as it is; answer amount
"""


def test_a_tiny_plan_is_explained_as_the_golden_text() -> None:
    digest = TINY.digest[:12]
    assert explain(TINY).replace(digest, "<digest>") == GOLDEN


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_stage_edge_and_query_is_named(name: str) -> None:
    plan = load(name).plan()
    text = explain(plan)
    for stage in plan.stages:
        assert stage.name in text
    for number in plan.edges:
        assert f"e{number} " in text
    for query in plan.results:
        assert f"answer {query}" in text


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_stage_serves_a_query(name: str) -> None:
    plan = load(name).plan()
    assert all(queries_of(plan, stage) for stage in plan.stages)


def test_a_shared_stage_serves_all_its_queries() -> None:
    scan = next(stage for stage in TINY.stages if stage.table is sales.spec)
    assert queries_of(TINY, scan) == ["best", "named", "rows"]
