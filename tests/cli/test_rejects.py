"""The report of `cauce run` on rejects, and the limit above which it gives no answers."""

from __future__ import annotations

from pathlib import Path

import pytest

import cauce as library
from cauce.errors import TooManyRejects, UsageError
from tests.cli.running import Outcome, cauce, written
from tests.cli.shop import shop, zoned_rows

pytestmark = pytest.mark.slow


def run(folder: Path, *more: str) -> Outcome:
    return cauce(folder, "run", "shop.py", "--data", "data", "--out", "out", "--workers", "1", *more)


def test_iso_times_are_read(tmp_path: Path) -> None:
    shop(tmp_path, *zoned_rows(3, 0), "9,2024-01-03,2", "10,2024-01-03 10:00,2.5")
    outcome = run(tmp_path)
    assert (outcome.code, outcome.err) == (0, "")
    assert (tmp_path / "out/days.csv").read_text() == "day,orders,paid\n2024-01-02,3,4.50\n2024-01-03,2,4.50\n"


def test_rejects_are_reported_by_column_and_reason_with_an_example_and_a_remedy(tmp_path: Path) -> None:
    shop(tmp_path, *zoned_rows(1, 9, unpaid=2), "x,y")
    outcome = run(tmp_path)
    assert outcome.code == 0
    assert outcome.err.splitlines() == [
        "note rejected 11 cells in 10 rows and 1 record, all listed in out/rejects.csv",
        "  orders, column when: 9 cells: a time with an offset",
        "    such as orders.csv line 3: '2024-01-02T03:04:05Z'",
        "    declare it as ZonedTimestamp(), which gives moments in UTC",
        "  orders, column paid: 2 cells: not a number",
        "    such as orders.csv line 2: 'n/a'",
        "    correct the cells, or declare it as Text()",
        "  orders: 1 record: expected 3 cells, found 2",
        "    such as orders.csv line 12: 'x,y'",
        "warning more than half of orders was rejected (100 % of its 11 rows): answers that use the rejected cells "
        "leave these rows out",
    ]


def test_a_long_raw_text_is_shown_in_part(tmp_path: Path) -> None:
    shop(tmp_path, "1,2024-01-01," + "9" * 300)
    assert f"line 2: '{'9' * 60}…'" in run(tmp_path).err


@pytest.mark.parametrize("limit", ["1", "9%"])
def test_more_rejects_than_allowed_fail_the_run_without_answers(tmp_path: Path, limit: str) -> None:
    shop(tmp_path, *zoned_rows(18, 2))
    assert run(tmp_path).code == 0
    assert written(tmp_path / "out") == ["days.csv", "income.csv", "rejects.csv"]
    (tmp_path / "out/rejects.csv").unlink()
    outcome = run(tmp_path, "--max-rejects", limit)
    assert outcome.code == 1
    assert written(tmp_path / "out") == ["rejects.csv"]
    assert (tmp_path / "out/rejects.csv").read_text().count("\n") == 3
    assert outcome.err.splitlines()[-1] == (
        "error [too-many-rejects] 2 rows rejected, more than the 1 allowed: no answers were written"
        if limit == "1"
        else "error [too-many-rejects] 2 of the 20 rows of orders (10 %) rejected, more than the 9% allowed: "
        "no answers were written"
    )
    assert "orders, column when: 2 cells: a time with an offset" in outcome.err


@pytest.mark.parametrize("limit", ["2", "10%"])
def test_as_many_rejects_as_allowed_are_no_failure(tmp_path: Path, limit: str) -> None:
    shop(tmp_path, *zoned_rows(18, 2))
    outcome = run(tmp_path, "--max-rejects", limit)
    assert outcome.code == 0
    assert written(tmp_path / "out") == ["days.csv", "income.csv", "rejects.csv"]


def test_a_wrong_limit_is_a_usage_error_before_anything_is_written(tmp_path: Path) -> None:
    shop(tmp_path, *zoned_rows(1, 0))
    outcome = run(tmp_path, "--max-rejects", "some")
    assert outcome.code == 2
    assert "invalid limit of rejects 'some'" in outcome.err
    assert not (tmp_path / "out").exists()


def test_python_has_the_summary_and_the_limit(tmp_path: Path) -> None:
    file = str(shop(tmp_path, *zoned_rows(1, 3, unpaid=1)))
    answers = library.run(file, tmp_path / "data", max_rejects=4)
    assert answers.reject_summary.select("table", "column", "cells", "line", "raw").rows() == [
        ("orders", "when", 3, 3, "2024-01-02T03:04:05Z"),
        ("orders", "paid", 1, 2, "n/a"),
    ]
    assert answers.summary.sentence() == "4 cells in 4 rows"
    with pytest.raises(TooManyRejects, match="4 rows rejected, more than the 3 allowed"):
        library.run(file, tmp_path / "data", max_rejects=3)
    with pytest.raises(UsageError, match="invalid limit"):
        library.run(file, tmp_path / "data", max_rejects="few")
