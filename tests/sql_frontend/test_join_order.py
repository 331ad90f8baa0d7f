"""The order of inner joins: a join that multiplies rows comes after those that do not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bench.tpch import queries, tables
from cauce.sql_frontend.binding.queries import QueryBinder
from cauce.sql_frontend.catalogue import Catalogue, catalogue_of
from cauce.sql_frontend.parse import parse
from cauce.sql_frontend.planning.joins import JoinPlanner
from cauce.sql_frontend.tree import KeyFilter, Scan, Step

ROWS = {
    "region": 5, "nation": 25, "supplier": 10_000, "part": 200_000, "partsupp": 800_000, "customer": 150_000,
    "orders": 1_500_000, "lineitem": 6_000_000,
}  # fmt: skip


def catalogue() -> Catalogue:
    made = catalogue_of(tables())
    return Catalogue(tuple(replace(each, rows=ROWS[each.name]) for each in made.tables))


def planned(text: str) -> Step:
    known = catalogue()
    return JoinPlanner(known).step(QueryBinder(known).bind(parse(text).statements[0].tree, None).step)


def order_of(text: str) -> list[str]:
    """The tables of a query in the order in which they are joined."""
    return list(_scanned(planned(text)))


def _scanned(step: Step) -> Iterator[str]:
    if isinstance(step, Scan):
        yield step.table
    for each in [step.child] if isinstance(step, KeyFilter) else step.inputs():
        yield from _scanned(each)


def test_customers_of_a_nation_are_joined_by_their_orders() -> None:
    order = order_of(queries()["q05"])
    assert order[0] == "lineitem"
    assert order.index("orders") < order.index("customer")


def test_a_join_by_a_key_comes_before_one_that_multiplies_rows() -> None:
    text = """SELECT count(*) FROM lineitem, supplier, customer, nation
        WHERE l_suppkey = s_suppkey AND s_nationkey = n_nationkey AND c_nationkey = n_nationkey"""
    assert order_of(text) == ["lineitem", "supplier", "nation", "customer"]


def test_the_input_that_drops_most_rows_is_joined_first() -> None:
    text = """SELECT count(*) FROM lineitem, supplier, part
        WHERE l_suppkey = s_suppkey AND l_partkey = p_partkey AND p_name = 'x'"""
    assert order_of(text) == ["lineitem", "part", "supplier"]
