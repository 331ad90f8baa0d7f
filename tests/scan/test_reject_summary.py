from __future__ import annotations

import random
from fractions import Fraction

import polars as pl
import pytest

from cauce.errors import TooManyRejects, UsageError
from cauce.scan.block import REJECT_SCHEMA
from cauce.scan.cells.kinds import Integer, Timestamp
from cauce.scan.reject_summary import MOST_GROUPS, OTHER_REASONS, RejectLimit, RejectSummary, percent
from cauce.scan.tables import Column, TableSpec

ORDERS = TableSpec("orders", ("orders.csv",), {"when": Column("When", Timestamp()), "n": Column("n", Integer())})
STORES = TableSpec("stores", ("stores.csv",), {})
Reject = tuple[str, int, str | None, str, str]


def frame(rows: list[Reject]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=REJECT_SCHEMA, orient="row")


def summary(rows: list[Reject], records: int) -> RejectSummary:
    made = RejectSummary()
    made.add(ORDERS, records, frame(rows))
    return made


WHEN: Reject = ("a.csv", 2, "When", "a time with an offset", "2024-01-01T00:00Z")
NUMBER: Reject = ("a.csv", 2, "n", "not an integer", "x")
RECORD: Reject = ("a.csv", 3, None, "broken quoting", '"x')


def test_cells_rows_and_records_are_counted_apart() -> None:
    found = summary([WHEN, NUMBER, RECORD, ("a.csv", 4, "n", "not an integer", "y")], 10)
    assert found.sentence() == "3 cells in 2 rows and 1 record"
    assert found.tables["orders"].share == Fraction(3, 11)


def test_a_group_has_its_first_example_and_the_most_frequent_comes_first() -> None:
    found = summary([WHEN, NUMBER, ("a.csv", 4, "n", "not an integer", "y")], 3)
    assert found.frame().drop("remedy").rows() == [
        ("orders", "n", "not an integer", 2, "a.csv", 2, "x"),
        ("orders", "When", "a time with an offset", 1, "a.csv", 2, "2024-01-01T00:00Z"),
    ]


def test_the_summary_does_not_depend_on_the_frames_of_rejects() -> None:
    rng = random.Random(3)
    rows: list[Reject] = [
        (f"{file}.csv", line, column, f"reason {rng.randrange(3)}", "raw")
        for file in "ab"
        for line in range(2, 200)
        for column in sorted(rng.sample(["When", "n", "z"], rng.randrange(4)))
    ]
    whole, cut = summary(rows, 400), RejectSummary()
    cut.add(ORDERS, 400, frame([]))
    while rows:
        size = rng.randint(1, 5)
        cut.add(ORDERS, 0, frame(rows[:size]))
        rows = rows[size:]
    assert cut.sentence() == whole.sentence()
    assert cut.frame().rows() == whole.frame().rows()


def test_different_reasons_beyond_a_bound_are_counted_as_one() -> None:
    rows: list[Reject] = [("a.csv", line, None, f"expected 3 cells, found {line}", "") for line in range(4, 1_004)]
    found = summary(rows, 0)
    groups = found.frame()
    assert groups.height == MOST_GROUPS + 1
    assert groups.row(0, named=True)["reason"] == OTHER_REASONS
    assert groups["cells"].sum() == found.records == 1_000


def test_a_remedy_is_given_where_much_of_a_column_is_rejected() -> None:
    assert summary([WHEN], 10).frame()["remedy"].to_list() == [
        "declare it as ZonedTimestamp(), which gives moments in UTC"
    ]
    assert summary([WHEN], 11).frame()["remedy"].to_list() == [""]


def test_more_than_half_of_a_table_is_a_warning() -> None:
    assert summary([WHEN], 2).warnings() == []
    assert summary([WHEN, RECORD], 2)
    (warning,) = summary([WHEN, RECORD], 2).warnings()
    assert warning.startswith("more than half of orders was rejected (66 % of its 3 rows)")


@pytest.mark.parametrize(
    ("share", "text"), [(0, "0 %"), ("0.0001", "1 %"), ("0.999999", "99 %"), (1, "100 %"), ("0.5", "50 %")]
)
def test_a_share_is_shown_as_0_or_100_only_if_exact(share: str | int, text: str) -> None:
    assert percent(Fraction(share)) == text


@pytest.mark.parametrize(
    ("limit", "allowed"), [("3", True), ("2", False), (0, False), ("30%", True), ("27.2%", False), ("100 %", True)]
)
def test_a_limit_counts_rejected_rows_and_records(limit: str | int, allowed: bool) -> None:
    found = summary([WHEN, NUMBER, RECORD, ("a.csv", 4, "n", "not an integer", "y")], 10)
    parsed = RejectLimit.parse(limit)
    assert parsed is not None
    if allowed:
        parsed.check(found)
    else:
        with pytest.raises(TooManyRejects):
            parsed.check(found)


def test_a_share_is_that_of_each_table() -> None:
    found = summary([WHEN], 1)
    found.add(STORES, 1_000_000, frame([]))
    limit = RejectLimit.parse("50%")
    assert limit is not None
    with pytest.raises(TooManyRejects, match="1 of the 1 row of orders"):
        limit.check(found)


@pytest.mark.parametrize("given", ["-1", "x", "1.5", "101%", "%", "5 rows", "1e3"])
def test_an_invalid_limit_is_a_usage_error(given: str) -> None:
    with pytest.raises(UsageError, match="invalid limit of rejects"):
        RejectLimit.parse(given)


def test_no_limit_is_the_default() -> None:
    assert RejectLimit.parse(None) is None
    assert RejectLimit.parse("") is None
