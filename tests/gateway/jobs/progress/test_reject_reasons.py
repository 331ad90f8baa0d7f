"""Rejects grouped by reason and column."""

from __future__ import annotations

import polars as pl
import pytest

from cauce.gateway.jobs.progress import reject_reasons
from cauce.gateway.jobs.progress.reject_reasons import RAW_CHARS, ReasonsBody, reasons_of
from cauce.scan.block import REJECT_SCHEMA


def frame(*rows: tuple[str, int, str | None, str, str]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=REJECT_SCHEMA, orient="row")


FIRST = frame(("a.csv", 2, "price", "not a number", "x"), ("a.csv", 5, None, "expected 3 cells, found 4", "1,2,3,4"))
SECOND = frame(("b.csv", 9, "price", "not a number", "y"), ("b.csv", 11, "day", "not a number", "z"))


def counts(found: ReasonsBody) -> list[tuple[str, str | None, int]]:
    return [(each.reason, each.column, each.count) for each in found.reasons]


def test_the_most_frequent_reason_comes_first() -> None:
    assert counts(reasons_of([FIRST, SECOND], 4, complete=True)) == [
        ("not a number", "price", 2),
        ("expected 3 cells, found 4", None, 1),
        ("not a number", "day", 1),
    ]


def test_examples_name_their_place() -> None:
    price = reasons_of([FIRST, SECOND], 4, complete=True).reasons[0]
    assert price.files == 2
    assert [(each.file, each.line, each.raw) for each in price.examples] == [("a.csv", 2, "x"), ("b.csv", 9, "y")]


def test_a_long_record_is_shortened() -> None:
    long = frame(("a.csv", 2, None, "expected 3 cells, found 4", "x" * 5_000))
    (reason,) = reasons_of([long], 1, complete=True).reasons
    assert reason.examples[0].raw == "x" * RAW_CHARS


def test_only_a_bounded_number_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reject_reasons, "MOST_REJECTS", 3)
    read: list[int] = []

    def frames() -> object:
        for number, each in enumerate([FIRST, SECOND, FIRST]):
            read.append(number)
            yield each

    found = reasons_of(frames(), 6, complete=True)  # type: ignore[arg-type]
    assert (found.counted, found.total, read) == (3, 6, [0, 1])


def test_without_rejects_there_are_no_reasons() -> None:
    assert reasons_of([], 0, complete=False) == ReasonsBody([], 0, 0, 0, False)
