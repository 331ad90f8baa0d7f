"""Plans of jobs over kept datasets: the sizes of their tables are known."""

from __future__ import annotations

import pytest

from cauce.gateway.jobs.planning import Planned
from cauce.gateway.limits import ServiceLimits
from cauce.job.kept import KeptVersion, TableVersion
from cauce.job.manifest import MemoryShares
from cauce.plan import INTEGER, Dataset, Integer, Relation, Table, agg

LIMIT = 1_000


def shop() -> Dataset:
    sales = Table("sales", "sales.csv", {"item": Integer()})
    items = Table("items", "items.csv", {"item": Integer(), "price": Integer()})
    dataset = Dataset("shop", (sales, items))

    @dataset.query(paid=INTEGER)
    def paid() -> Relation:
        return sales.join(items, on="item", strategy="broadcast").agg(paid=agg.sum("price"))

    return dataset


@pytest.mark.parametrize(("size", "spread"), [(LIMIT // 2, "broadcast"), (LIMIT, "hash")])
def test_a_table_that_is_too_large_is_not_broadcast(size: int, spread: str) -> None:
    dataset = shop()
    limits = ServiceLimits(memory=MemoryShares(broadcast_bytes=LIMIT))
    tables = {"sales": TableVersion(1, 10, 1), "items": TableVersion(1, size, 1)}
    version = KeptVersion("kept", 1, "store", "incarnation", tables)
    planned = Planned(dataset, dataset.plan(), {}).on_version(limits, version)
    assert spread in {edge.spread for edge in planned.plan.edges.values()}
    assert ("broadcast" in {edge.spread for edge in planned.plan.edges.values()}) == (spread == "broadcast")
    stored = planned.manifest(limits, version)
    assert stored.digest == dataset.plan(large=stored.large).digest
