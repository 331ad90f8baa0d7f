"""The jobs that schedules run: every query of the built-in datasets, and jobs made from SQL over a small shop."""

from __future__ import annotations

from functools import lru_cache

from cauce.datasets import BUILT_IN, load
from cauce.lab.chaos.sql_shop import SHOP, SHOP_JOBS
from cauce.plan import Dataset
from cauce.sql_frontend.dataset import NAME, dataset_of
from cauce.sql_frontend.source import SqlSource

JobQueries = tuple[str, tuple[str, ...]]
"""A dataset and the queries that one job answers."""


@lru_cache(maxsize=16)
def simulated_dataset(name: str) -> Dataset:
    return dataset_of(SHOP) if name == NAME else load(name)


def sql_of(name: str) -> SqlSource | None:
    """The statements that the manifest of a job holds; None for a dataset that processes load by its name."""
    return SHOP if name == NAME else None


JOBS: tuple[JobQueries, ...] = (
    *((dataset, (query,)) for dataset in BUILT_IN for query in load(dataset).queries),
    *((NAME, queries) for queries in SHOP_JOBS),
)
