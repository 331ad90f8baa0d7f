"""Random queries over random tables, equal to DuckDB. A difference is reported with the smallest tables found."""

from __future__ import annotations

import random

import pytest

from tests.sql_frontend.fuzz import PER_DATABASE, differences, reduced
from tests.sql_frontend.random_queries import Queries, random_database

DAILY, SOAK = 1_200, 100_000
GROUPS = 20


def _check(first: int, count: int) -> None:
    found = [each for seed in range(first, first + count) for each in differences(seed)]
    assert not found, "\n\n".join(found)


@pytest.mark.slow
@pytest.mark.parametrize("group", range(GROUPS))
def test_random_queries_equal_duckdb(group: int) -> None:
    seeds = DAILY // PER_DATABASE // GROUPS
    _check(group * seeds, seeds)


@pytest.mark.soak
@pytest.mark.parametrize("group", range(GROUPS))
def test_many_random_queries_equal_duckdb(group: int) -> None:
    seeds = SOAK // PER_DATABASE // GROUPS
    _check(1_000_000 + group * seeds, seeds)


def test_equal_seeds_give_equal_queries() -> None:
    texts = []
    for _ in range(2):
        choose = random.Random(5)
        texts.append([Queries(choose, random_database(choose)).query() for _ in range(20)])
    assert texts[0] == texts[1]


def test_difference_is_reduced_to_the_rows_that_show_it() -> None:
    database = random_database(random.Random(3))
    name = max(database.rows, key=lambda each: len(database.rows[each]))
    wanted = database.rows[name][0]
    small = reduced(database, lambda each: wanted in each.rows[name])
    assert small.rows == {**{each: [] for each in database.rows}, name: [wanted]}
