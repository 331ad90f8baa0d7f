"""A later pass over a table decodes columns only for the rows that a filter keeps: with the same rows as a pass that
decodes all of them first."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from cauce.plan import Date, Decimal, Integer, Table, Text, nodes
from cauce.plan.evaluate import Evaluator, Received
from cauce.scan.csv.block import CsvBlock
from cauce.scan.csv.located import padded

TABLE = Table("t", "t.csv", {"k": Integer(), "n": Integer(), "price": Decimal(2), "day": Date(), "name": Text()})
USED = frozenset(TABLE.spec.columns)


def block(lines: list[str], *, late: bool = True) -> CsvBlock:
    data = "".join(f"{line}\n" for line in lines).encode()
    return CsvBlock(TABLE.spec, "t.csv", tuple(TABLE.spec.columns), 2, padded(data), len(data), USED, late=late)


LINES = [f"{n % 50},{n},{n}.25,2024-01-{n % 28 + 1:02d},name {n}" for n in range(400)]
"""Each key is in eight rows."""

DAMAGED = [
    *LINES[:99],
    "7,x,1.00,2024-01-01,unreadable number",
    "7,1,1.00,2024-02-30,unreadable date",
    "8,1,1.00,2024-02-30,unreadable date of a row that is dropped",
    "y,1,1.00,2024-01-01,unreadable key",
    ",1,1.00,2024-01-01,no key",
    '7,1,,,"quoted ""name"""',
    *LINES[99:],
]


def filtered(lines: list[str], keys: pl.DataFrame, *, reports_rejects: bool) -> tuple[pl.DataFrame, CsvBlock]:
    node = nodes.KeyFilter(nodes.Scan(TABLE.spec, USED), nodes.Receive(0, ("k",)), ("k",), "semi", "broadcast")
    part = block(lines, late=not reports_rejects)
    evaluator = Evaluator(Received({0: keys}), part, reports_rejects=reports_rejects)
    return evaluator.frame(nodes.Pick(node, ("n", "price", "day", "name", "k"))), part


@pytest.mark.parametrize("lines", [LINES, DAMAGED], ids=["readable", "damaged"])
@pytest.mark.parametrize("keys", [[7], [7, 9, None], [-1], list(range(40))], ids=str)
def test_rows_are_those_of_the_first_pass(lines: list[str], keys: list[int | None]) -> None:
    sent = pl.DataFrame({"k": keys}, schema={"k": pl.Int64})
    late, _ = filtered(lines, sent, reports_rejects=False)
    early, _ = filtered(lines, sent, reports_rejects=True)
    assert_frame_equal(late, early)


def test_other_columns_are_decoded_for_the_chosen_rows_alone() -> None:
    _, part = filtered(DAMAGED, pl.DataFrame({"k": [7]}), reports_rejects=False)
    assert set(part._parsed) == {"k"}


def test_a_filter_that_was_dropped_keeps_all_rows() -> None:
    node = nodes.KeyFilter(nodes.Scan(TABLE.spec, USED), nodes.Receive(0, ("k",)), ("k",), "semi", "broadcast")
    evaluator = Evaluator(Received({}), block(LINES), reports_rejects=False)
    assert evaluator.frame(nodes.Pick(node, ("n",))).height == len(LINES)
