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


def test_control_characters_of_cells_are_shown_as_symbols(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"id,x\n1,\x1b[31mred\x1b]0;title\x07\n2,a\tb\x08\n3,\xc2\x9b31m\n")
    session = run_in_terminal([*cauce(), "sql", "SELECT * FROM t ORDER BY id", "--data", str(tmp_path)], term="dumb")
    assert session.code == 0
    assert "␛[31mred␛]0;title␇" in session.text
    assert "a␉b␈" in session.text
    assert b"\x1b" not in session.raw
    assert b"\xc2\x9b" not in session.raw


def test_progress_names_a_table_by_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "sales of may.csv").write_text("id\n1\n")
    words = ["sql", 'SELECT id FROM "sales of may"', "--data", str(tmp_path), "--out", str(tmp_path / "out")]
    session = run_in_terminal([*cauce(), *words])
    assert session.code == 0
    assert "sales of may ━" in session.text


def test_progress_fits_a_narrow_terminal(tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("id\n1\n")
    words = ["sql", "SELECT id FROM sales", "--data", str(tmp_path), "--out", str(tmp_path / "out")]
    session = run_in_terminal([*cauce(), *words], width=40)
    assert session.code == 0
    assert "5/5 bytes" in session.text
    assert "…" not in session.text
