"""Declaring relations: invalid steps are rejected at once, with the known names."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from cauce.errors import PlanError
from cauce.plan import POSITION, Integer, Relation, Table, Text, agg, desc, ratio
from cauce.plan.nodes import Join

people = Table("people", "people.csv", {"id": Integer(), "name": Text(), "town": Text()})
towns = Table("towns", "towns.csv", {"town": Text(), "name": Text()}, small=True)

WRONG: dict[str, Callable[[], object]] = {
    "filter": lambda: people.filter(pl.col("age") > 3),
    "with_columns": lambda: people.with_columns(old=pl.col("age") > 3),
    "select": lambda: people.select("id", "age"),
    "explode": lambda: people.explode("age"),
    "join": lambda: people.join(towns.select("town"), on="age"),
    "group_by": lambda: people.group_by("age"),
    "agg": lambda: people.group_by("id").agg(age=agg.sum("age")),
    "agg by value": lambda: people.agg(age=agg.mode("age")),
    "top_k": lambda: people.top_k(3, by=desc("age")),
    "top_k per": lambda: people.top_k(3, by="id", per="age"),
    "sort": lambda: people.sort("id", desc("age")),
    "sort by ratio": lambda: people.sort(ratio("id", "age")),
    "distinct": lambda: people.distinct("age"),
}


@pytest.mark.parametrize("step", WRONG)
def test_an_unknown_column_is_rejected_with_the_known_ones(step: str) -> None:
    with pytest.raises(PlanError, match="no column age here; there are id, name, town"):
        WRONG[step]()


def test_a_key_that_the_other_side_lacks_is_refused() -> None:
    with pytest.raises(PlanError, match="no column id on the other side; it has name, town"):
        people.join(towns, on="id")


@pytest.mark.parametrize("how", ["inner", "left"])
def test_two_columns_of_one_name_in_a_join_are_refused(how: str) -> None:
    with pytest.raises(PlanError, match="both sides of a join on town have name"):
        people.join(towns, on="town", how=how)


@pytest.mark.parametrize("how", ["semi", "anti"])
def test_a_semi_join_adds_no_columns_and_has_no_name_clash(how: str) -> None:
    assert people.join(towns, on="town", how=how).columns == people.columns


def test_concat_of_different_columns_is_refused() -> None:
    with pytest.raises(PlanError, match="concat needs equal columns, not id, name, town and name, town"):
        people.concat(towns)


def test_concat_of_columns_in_another_order_is_refused() -> None:
    with pytest.raises(PlanError, match="concat"):
        people.select("id", "name").concat(people.select("name", "id"))


def test_a_scalar_with_the_name_of_a_column_is_refused() -> None:
    with pytest.raises(PlanError, match="a scalar has the name of a column: id"):
        people.with_scalars(people.agg(id=agg.count()))


def test_a_required_column_that_the_table_lacks_is_refused() -> None:
    with pytest.raises(PlanError, match="table t: required names no column of it: b"):
        Table("t", "t.csv", {"a": Text()}, required=["b"])


def test_a_step_makes_a_new_relation_and_leaves_the_old_one() -> None:
    wider = people.with_columns(x=1)
    assert wider.columns == (*people.columns, "x")
    assert "x" not in people.columns


def test_a_group_by_gives_its_keys_and_aggregates() -> None:
    assert people.group_by("town").agg(n=agg.count(), m=agg.mode("name")).columns == ("town", "n", "m")


def test_an_inner_join_gives_the_left_columns_and_then_the_others() -> None:
    right = towns.select("town", country="name")
    assert people.join(right, on="town").columns == ("id", "name", "town", "country")


def test_the_input_position_is_a_column_of_every_relation() -> None:
    assert people.top_k(1, by=POSITION).columns == people.columns


def strategy(other: Relation) -> str:
    node = people.join(other, on="town", how="semi").node
    assert isinstance(node, Join)
    return node.strategy


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (towns, "broadcast"),
        (towns.filter(pl.col("name") != "x").select("town"), "broadcast"),
        (people, "partition"),
        (people.group_by("town").agg(), "partition"),
        (people.top_k(3, by="id"), "broadcast"),
        (people.top_k(3, by="id", per="town"), "partition"),
        (people.agg(town=agg.count()), "broadcast"),
        (towns.concat(towns), "broadcast"),
        (people.select("town").concat(towns.select("town")), "partition"),
    ],
)
def test_small_sides_are_broadcast_and_others_partitioned(other: Relation, expected: str) -> None:
    assert strategy(other) == expected
