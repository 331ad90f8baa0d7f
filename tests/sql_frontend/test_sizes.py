"""Estimates of the number of rows of a step."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cauce.sql_frontend.planning.sizes import Sizes, selectivity
from cauce.sql_frontend.tree import Filter, KeyFilter, Project, Scan, Step
from tests.sql_frontend.test_join_order import ROWS, catalogue, planned

SIZES = Sizes(catalogue())


def filter_of(condition: str) -> Filter:
    (found,) = (
        each for each in _steps(planned(f"SELECT l_tax FROM lineitem WHERE {condition}")) if isinstance(each, Filter)
    )
    return found


def _steps(step: Step) -> Iterator[Step]:
    yield step
    for each in step.inputs():
        yield from _steps(each)


@pytest.mark.parametrize(
    ("condition", "least", "most"),
    [
        ("l_returnflag = 'R'", 0.05, 0.2),
        ("l_returnflag <> 'R'", 0.8, 0.95),
        ("l_returnflag NOT LIKE 'R%'", 0.7, 0.95),
        ("l_shipdate >= DATE '1994-01-01'", 0.3, 0.5),
        ("l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'", 0.1, 0.2),
        ("l_commitdate < l_receiptdate", 0.4, 0.6),
        ("l_shipmode IN ('MAIL', 'SHIP')", 0.15, 0.25),
        ("l_shipmode = 'MAIL' OR l_shipmode = 'SHIP'", 0.15, 0.25),
    ],
)
def test_share_of_rows_depends_on_the_kind_of_the_condition(condition: str, least: float, most: float) -> None:
    assert least <= selectivity(filter_of(condition).conditions) <= most


def test_no_number_of_conditions_makes_a_table_tiny() -> None:
    many = " AND ".join(f"l_linenumber = {number}" for number in range(9))
    assert SIZES.rows(filter_of(many)) >= ROWS["lineitem"] // 100


def test_filter_by_keys_keeps_the_share_of_the_keys_but_is_not_trusted_blindly() -> None:
    lineitem = Scan("lineitem", ())
    half = KeyFilter(lineitem, "l_orderkey", Project(filter_of("l_commitdate < l_receiptdate"), ()))
    few = KeyFilter(lineitem, "l_orderkey", Project(filter_of("l_tax = 1 AND l_linenumber = 1"), ()))
    assert SIZES.rows(half) == ROWS["lineitem"] // 2
    assert SIZES.rows(few) == ROWS["lineitem"] // 5
