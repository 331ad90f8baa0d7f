"""Arithmetic of many decimals: as Python's exact one, and an error where a result does not fit its type."""

from __future__ import annotations

import random
from decimal import Decimal, localcontext

import polars as pl
import pytest

from cauce.errors import JobFailed
from cauce.sql_frontend.functions.arithmetic import Checked
from cauce.sql_frontend.types import SqlType

ROWS = 1_500
OPERATIONS = {"add": Decimal.__add__, "subtract": Decimal.__sub__, "multiply": Decimal.__mul__}


def decimal_type(precision: int, scale: int) -> SqlType:
    return SqlType("DECIMAL", precision=precision, scale=scale)


def column(most: int, scale: int, seed: int) -> pl.Series:
    rng = random.Random(seed)
    values = [Decimal(rng.randint(-most, most)).scaleb(-scale) for _ in range(ROWS)]
    return pl.Series(values, dtype=pl.Decimal(38, scale))


@pytest.mark.parametrize("most", [10**4, 10**9, 10**16], ids=["short", "long", "wide"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_results_are_exact(operation: str, most: int) -> None:
    left, right = column(most, 2, 1), column(most, 3, 2)
    kind = decimal_type(38, 5 if operation == "multiply" else 3)
    made = Checked("", operation, kind).compute(left, right, pl.Series([True] * ROWS))
    with localcontext(prec=80):
        expected = [OPERATIONS[operation](a, b) for a, b in zip(left, right, strict=True)]
    assert made.dtype == kind.dtype
    assert made.to_list() == expected


def test_a_result_beyond_the_precision_of_its_type_is_an_error() -> None:
    left = column(10**4, 0, 3)
    with pytest.raises(JobFailed, match="overflow in \\*"):
        Checked("", "multiply", decimal_type(5, 0)).compute(left, left, pl.Series([True] * ROWS))


def test_a_result_outside_the_guard_is_null() -> None:
    left = pl.Series([Decimal(10)] * ROWS, dtype=pl.Decimal(38, 0))
    made = Checked("", "multiply", decimal_type(2, 0)).compute(left, left, pl.Series([False] * ROWS))
    assert made.null_count() == ROWS
