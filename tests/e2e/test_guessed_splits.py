"""A file whose quoted texts look like records: the wrong split is detected, and the answers are correct."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

DATASET = '''
from cauce.plan import INTEGER, TEXT, Column, Dataset, Integer, Table, Text, agg
from pathlib import Path

notes = Table("notes", "notes.csv", {"id": Column("id", Integer()), "text": Column("text", Text())})
dataset = Dataset("notes", (notes,), source=Path(__file__))


@dataset.query(notes=INTEGER, ids=INTEGER)
def q1():
    """How many notes there are"""
    return notes.agg(notes=agg.count(), ids=agg.sum("id"))
'''
ROWS = 40
PART_BYTES = 20_000


def folder(tmp_path: Path, text: str, bad: bool = False) -> Path:
    data = tmp_path / "data"
    data.mkdir()
    (tmp_path / "notes.py").write_text(DATASET)
    with (data / "notes.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "text", "more"])
        writer.writerows([[str(i) if i % 10 or not bad else "?", text, "z"] for i in range(ROWS)])
    return data


def run(tmp_path: Path, data: Path) -> tuple[list[list[str]], str]:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "cauce", "run", str(tmp_path / "notes.py"), "--data", str(data), "--out", str(out)]
    done = subprocess.run(
        [*command, "--part-bytes", str(PART_BYTES)], capture_output=True, text=True, check=True, timeout=120
    )
    with (out / "q1.csv").open(newline="") as file:
        return list(csv.reader(file)), done.stderr


def lie(lines: int) -> str:
    return "".join(f"{i},a lie,more\n" for i in range(lines))


def test_wrong_split_guess_restarts_the_run_with_exact_splits(tmp_path: Path) -> None:
    rows, output = run(tmp_path, folder(tmp_path, lie(3000)))
    assert rows == [["notes", "ids"], [str(ROWS), str(sum(range(ROWS)))]]
    assert "restarting with a scan of the whole files first" in output


@pytest.mark.parametrize("text", ["two\nlines, and more\n", 'quotes "\n" and, commas\n', "plain"])
def test_correct_split_guess_reads_the_file_once(tmp_path: Path, text: str) -> None:
    rows, output = run(tmp_path, folder(tmp_path, text * 200))
    assert rows == [["notes", "ids"], [str(ROWS), str(sum(range(ROWS)))]]
    assert "restarting with a scan of the whole files first" not in output


def test_rejects_have_line_numbers_of_the_file(tmp_path: Path) -> None:
    """Also in parts whose first line number is not known in advance."""
    text = "two\nlines\n" * 200
    data = folder(tmp_path, text, bad=True)
    run(tmp_path, data)
    with (tmp_path / "out" / "rejects.csv").open(newline="") as file:
        lines = [int(row["line"]) for row in csv.DictReader(file)]
    lines_of_a_row = text.count("\n") + 1
    assert lines == [2 + lines_of_a_row * i for i in range(0, ROWS, 10)]
