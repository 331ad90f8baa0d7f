"""Rejects as a person sees them at the end of a run, in terminals of two widths."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.shop import shop, zoned_rows
from tests.terminal.terminal import Session, cauce, run_in_terminal

pytestmark = pytest.mark.slow

BOLD = b"\x1b[1;33m"


def run(folder: Path, width: int, *more: str) -> Session:
    arguments = cauce("run", "shop.py", "--data", "data", "--out", "out", "--workers", "1", *more)
    return run_in_terminal(arguments, width=width, cwd=folder)


@pytest.mark.parametrize("width", [80, 120])
def test_the_report_fits_the_terminal_and_ends_with_the_warning(tmp_path: Path, width: int) -> None:
    shop(tmp_path, *zoned_rows(1, 9, unpaid=1))
    session = run(tmp_path, width)
    assert session.code == 0, session.text
    report = session.text[session.text.index("note rejected") :]
    assert all(len(line) <= width for line in report.splitlines())
    words = " ".join(report.split())
    assert (
        "orders, column when: 9 cells: a time with an offset such as orders.csv line 3: '2024-01-02T03:04:05Z'" in words
    )
    assert "declare it as ZonedTimestamp(), which gives moments in UTC" in words
    assert words.endswith("answers that use the rejected cells leave these rows out")
    # No word is broken at the edge.
    assert "more than half of orders was rejected (100 % of its 10 rows):" in words
    assert BOLD + b"warning more than half of orders" in session.raw


def test_a_limit_ends_the_run_with_an_error_as_the_last_line(tmp_path: Path) -> None:
    shop(tmp_path, *zoned_rows(1, 9))
    session = run(tmp_path, 80, "--max-rejects", "50%")
    assert session.code == 1
    assert session.cursor_shown
    assert "error [too-many-rejects] 9 of the 10 rows of orders (90 %) rejected, more than the 50%" in session.text
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["rejects.csv"]
