"""Datasets: their queries, parameters and versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from cauce.errors import PlanError, UnknownName
from cauce.plan import INTEGER, TEXT, Dataset, Integer, Parameter, Relation, Table, Text
from tests.plan.tiny import dataset_of

t = Table("t", "t.csv", {"a": Integer(), "b": Text()})
KIND = Parameter("kind", ("plain", "fancy"))
tiny = dataset_of(t, parameters=(KIND,), q1=(t, {"a": INTEGER}), q2=(t, {"b": TEXT}))


def test_an_unknown_query_is_rejected_with_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="unknown query of tiny: q3, q9; expected one of q1, q2"):
        tiny.choose(["q1", "q3", "q9"])


def test_an_unknown_parameter_is_refused() -> None:
    with pytest.raises(UnknownName, match="unknown parameter of tiny: colour"):
        tiny.parameter_values({"colour": "red"})


def test_an_unknown_choice_is_rejected_with_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="unknown value of kind: grand; expected one of plain, fancy"):
        tiny.parameter_values({"kind": "grand"})


def test_the_first_choice_is_the_default() -> None:
    assert tiny.parameter_values(None) == {"kind": "plain"}


@pytest.mark.parametrize(
    ("names", "expected"), [(None, ["q1", "q2"]), ([], ["q1", "q2"]), (["q2", "q1"], ["q1", "q2"])]
)
def test_queries_come_in_the_order_of_the_dataset(names: list[str] | None, expected: list[str]) -> None:
    assert [query.name for query in tiny.choose(names)] == expected


def test_a_query_has_the_name_and_docstring_of_its_function() -> None:
    dataset = Dataset("d", (t,))

    @dataset.query(a=INTEGER)
    def q7() -> Relation:
        """What is
        a?"""
        return t

    assert dataset.queries["q7"].question == "What is a?"


def test_a_query_declared_twice_is_refused() -> None:
    dataset = Dataset("d", (t,))

    def q1() -> Relation:
        return t

    dataset.query(a=INTEGER)(q1)
    with pytest.raises(PlanError, match="dataset d declares q1 twice"):
        dataset.query(a=INTEGER)(q1)


def test_a_query_is_given_the_parameters_that_it_takes() -> None:
    given: list[str] = []
    dataset = Dataset("d", (t,), (KIND,))

    @dataset.query(a=INTEGER)
    def q1(kind: str) -> Relation:
        """?"""
        given.append(kind)
        return t

    @dataset.query(a=INTEGER)
    def q2() -> Relation:
        """?"""
        return t

    dataset.plan(parameters={"kind": "fancy"})
    assert given == ["fancy"]


def test_an_output_column_missing_in_the_relation_is_rejected() -> None:
    with pytest.raises(PlanError, match="q has no column z to show"):
        dataset_of(t, q=(t, {"z": TEXT})).plan()


def test_the_version_changes_with_the_file_that_declares_the_dataset(tmp_path: Path) -> None:
    source = tmp_path / "own.py"
    source.write_text("one")
    dataset = Dataset("d", (t,), source=source)
    before = dataset.version
    assert dataset.version == before
    source.write_text("two")
    assert dataset.version != before
