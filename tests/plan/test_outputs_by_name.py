"""Outputs are stored by name with a job, and must be the same when they are read back."""

from __future__ import annotations

import polars as pl
import pytest

from cauce.datasets import BUILT_IN, load
from cauce.errors import PlanError
from cauce.plan.outputs import (
    BOOLEAN,
    DATE,
    DECIMAL,
    FLOAT,
    INTEGER,
    TEXT,
    TEXT_LIST,
    TIMESTAMP,
    TIMESTAMPTZ,
    WIDE_INTEGER,
    Output,
    decimal,
    output_name,
    output_named,
)

ALL = [
    TEXT, INTEGER, WIDE_INTEGER, DATE, BOOLEAN, TIMESTAMP, TIMESTAMPTZ, FLOAT,
    TEXT_LIST, DECIMAL, decimal(0), decimal(7), decimal(2, unscaled=True),
]  # fmt: skip


@pytest.mark.parametrize("output", ALL, ids=output_name)
def test_an_output_is_found_again_by_its_name(output: Output) -> None:
    found = output_named(output_name(output))
    assert found == output
    assert type(found) is type(output)


def test_no_two_outputs_have_one_name() -> None:
    assert len({output_name(output) for output in ALL}) == len(ALL)


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_column_of_the_built_in_datasets_has_a_name(name: str) -> None:
    for result in load(name).plan().results.values():
        for output in result.columns.values():
            assert output_named(output_name(output)) == output


@pytest.mark.parametrize("name", ["", "text-2", "places-", "places-x", "places-99", "unheard-of"])
def test_an_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(PlanError):
        output_named(name)


def test_an_output_of_another_kind_is_refused() -> None:
    with pytest.raises(PlanError, match="is not an output"):
        output_name(Output(pl.Int8()))
