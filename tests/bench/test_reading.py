"""Generated damaged files: what is intact is known, and Cauce finds it."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from bench.options import Options, parsed
from bench.reading import COLUMNS, INTACT
from bench.reading.files import CASES, EVERY, Case, generated
from bench.reading.suite import CAUCE, Reading, readings

ROWS = 2 * EVERY
READABLE = [case for case in CASES if case.name in ("no damage", "quoted cells with line ends", "missing cells")]


@pytest.mark.parametrize("case", READABLE, ids=lambda case: case.name)
def test_the_expected_rows_are_those_of_the_file(case: Case, tmp_path: Path) -> None:
    file = generated(tmp_path, case, ROWS)
    with (file.folder / "visits.csv").open(newline="", encoding="utf-8") as lines:
        intact = [row for row in csv.DictReader(lines) if row["status"] == INTACT]
    assert set(intact[0]) == set(COLUMNS)
    cents = sum(round(float(row["amount"]) * 100) for row in intact)
    assert (len(intact), cents) == (file.rows, file.cents)


def test_a_sum_that_lacks_a_row_is_not_right(tmp_path: Path) -> None:
    file = generated(tmp_path, CASES[0], ROWS)
    right = Reading(CAUCE, file, rows=file.rows, amount=file.cents / 100)
    wrong = Reading(CAUCE, file, rows=file.rows, amount=file.cents / 100 - 0.01)
    assert (right.right, wrong.right) == (True, False)


@pytest.mark.soak
def test_cauce_reads_every_file(tmp_path: Path) -> None:
    options: Options = parsed(["--suite", "reading", "--peers", "", "--scale", "0.004", "--rounds", "1"], "")
    options = type(options)(**{**vars(options), "out": tmp_path})
    assert [each.file.case for each in readings(options, tmp_path) if not each.right] == []
