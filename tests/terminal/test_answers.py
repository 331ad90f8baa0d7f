"""Tests of the tables in which answers are printed."""

from __future__ import annotations

import io
from pathlib import Path
from random import Random

import polars as pl
import pytest
from rich.cells import cell_len
from rich.console import Console

from cauce.plan.outputs import TEXT
from cauce.terminal.answers import AnswerTable
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


@pytest.mark.parametrize("letter", ["n", "ñ", "名"])
def test_a_very_long_name_is_truncated_and_the_values_are_shown(tmp_path: Path, letter: str) -> None:
    (tmp_path / "wide.csv").write_text(f"{letter * 200},b\n12345,67890\n")
    session = run_in_terminal([*cauce(), "sql", "SELECT * FROM wide", "--data", str(tmp_path)])
    assert session.code == 0
    assert f"{letter}…" in session.text
    assert "12345" in session.text
    assert "67890" in session.text


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


@pytest.mark.parametrize("width", [40, 80, 100])
def test_progress_of_a_table_with_a_long_name_shows_its_numbers(width: int, tmp_path: Path) -> None:
    name = "exported_from_a_tool_with_the_date_and_a_version_" * 2
    (tmp_path / f"{name}.csv").write_text("id\n" + "1\n" * 5_000)
    words = ["sql", f"SELECT id FROM {name}", "--data", str(tmp_path), "--out", str(tmp_path / "out")]
    session = run_in_terminal([*cauce(), *words], width=width)
    assert session.code == 0
    assert "exported_" in session.text
    assert "10.0/10.0 kB" in session.text
    if width > 72:
        assert "5,000 rows" in session.text


def tables() -> list[AnswerTable]:
    """Tables of all shapes: random widths, rows, texts and numbers, for several terminals."""
    random = Random(7)
    made: list[AnswerTable] = []
    for _ in range(150):
        height = random.choice([0, 1, 2, 6])
        columns: dict[str, list[str] | list[int] | list[float]] = {}
        for number in range(random.randint(1, 6)):
            name = "".join(random.choices("abc_ d", k=random.randint(1, 14))).strip() + str(number)
            if random.random() < 0.5:
                columns[name] = [random.randint(-(10**9), 10 ** random.randint(1, 12)) for _ in range(height)]
            else:
                columns[name] = ["".join(random.choices("xyz []:/é–…", k=random.randint(0, 60))) for _ in range(height)]
        frame = pl.DataFrame(columns, schema={name: _dtype(values) for name, values in columns.items()})
        title = "sql.q1  " + "which  one, wie groß " * random.randint(0, 9)
        made.append(AnswerTable.of(title, frame, dict.fromkeys(frame.columns, TEXT), height + random.choice([0, 3])))
    return made


def _dtype(values: list[str] | list[int] | list[float]) -> pl.DataType:
    return pl.String() if values and isinstance(values[0], str) else pl.Int64()


@pytest.mark.parametrize("columns", ["40", "80", "120"])
def test_the_plain_text_of_a_table_is_that_of_rich(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    plain = [each for each in tables() if each.is_plain()]
    assert len(plain) > 20
    for each in plain:
        printed = io.StringIO()
        Console(file=printed, width=int(columns), highlight=False).print(each.styled())
        assert each.plain_text() == printed.getvalue()


def test_every_character_that_is_printed_without_rich_takes_one_column() -> None:
    frame = pl.DataFrame({"a": ["x"]})
    plain = [
        character
        for character in map(chr, range(0x3000))
        if AnswerTable.of(character, frame, dict.fromkeys(frame.columns, TEXT), 1).is_plain()
    ]
    assert len(plain) > 900
    assert all(cell_len(character) == 1 and character.isprintable() for character in plain)


@pytest.mark.parametrize("text", ["日本", "a\tb", "e\u0301", "\x1b[31m", "a\nb"])
def test_texts_of_other_widths_are_left_to_rich(text: str) -> None:
    frame = pl.DataFrame({"a": [text]})
    assert not AnswerTable.of("t", frame, dict.fromkeys(frame.columns, TEXT), 1).is_plain()
