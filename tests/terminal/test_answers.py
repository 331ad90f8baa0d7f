"""Tests of the tables in which answers are printed."""

from __future__ import annotations

from pathlib import Path

from tests.terminal.terminal import cauce, run_in_terminal


def test_columns_that_do_not_fit_are_left_out_and_counted(tmp_path: Path) -> None:
    names = [f"col{number}" for number in range(100)]
    (tmp_path / "wide.csv").write_text("\n".join((",".join(names), ",".join(["12345"] * 100))) + "\n")
    session = run_in_terminal([*cauce(), "sql", "SELECT * FROM wide", "--data", str(tmp_path)])
    assert session.code == 0
    assert "col0" in session.text
    assert "12345" in session.text
    assert "of 100 columns not shown" in session.text
    assert "││" not in session.text
