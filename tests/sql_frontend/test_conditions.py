"""Conditions of a filter are evaluated in an order that builds few texts, and protects conditions that may fail."""

from __future__ import annotations

import polars as pl

import cauce
from cauce.plan import Date, Integer, Table, Text
from cauce.plan.explain import explain
from cauce.sql_frontend.catalogue import catalogue_of
from cauce.sql_frontend.dataset import sql_dataset


def planned(text: str) -> str:
    table = Table("t", "t.csv", {"name": Text(), "n": Integer(), "day": Date()})
    return explain(sql_dataset(text, catalogue_of([table])).plan(partitions=1))


def test_numbers_and_dates_are_compared_before_texts() -> None:
    plan = planned("SELECT n FROM t WHERE name = 'a' AND n > 3 AND day < DATE '2024-01-01'")
    assert plan.index('col("n")') < plan.index('col("day")') < plan.index('col("name")')


def test_an_interval_is_subtracted_once() -> None:
    assert '[(col("day")) <= (2023-12-02)]' in planned(
        "SELECT n FROM t WHERE day <= DATE '2024-01-01' - INTERVAL '30' DAY"
    )


def test_a_condition_protects_those_after_it() -> None:
    table = pl.DataFrame({"name": ["1", "x"], "n": [1, 2]})
    found = cauce.sql("SELECT n FROM t WHERE name <> 'x' AND CAST(name AS INTEGER) = 1 AND n < 9", {"t": table})
    assert found["q1"]["n"].to_list() == [1]
