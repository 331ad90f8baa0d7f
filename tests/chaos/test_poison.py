"""A part that kills its workers and a query that raises fail their job with the cause, instead of being retried for
ever."""

from __future__ import annotations

import re
from pathlib import Path

from tests.chaos.running import Run, answers
from tests.cli.running import Outcome

ROWS = 6_000
PART_BYTES = 4_096
MARKER = "a word that must not be read"

NOTES = '''
import os
import signal
from pathlib import Path

import polars as pl

from cauce.plan import INTEGER, TEXT, Dataset, Relation, Table, Text, agg

notes = Table("notes", "notes.csv", {"name": Text(), "note": Text()})
dataset = Dataset("notes", (notes,), source=Path(__file__))


def read(texts: pl.Series) -> pl.Series:
    if (texts == "a word that must not be read").any():
        FATE
    return texts.str.len_chars().cast(pl.Int64)


@dataset.query(name=TEXT, notes=INTEGER)
def counted() -> Relation:
    """How many notes of each name are not empty"""
    size = pl.col("note").map_batches(read, return_dtype=pl.Int64)
    return notes.with_columns(size=size).filter(pl.col("size") > 0).group_by("name").agg(notes=agg.count()).sort("name")
'''


def write_notes(folder: Path, crash: str, marked_row: int | None) -> tuple[int, int]:
    """Writes the dataset and its data; returns the byte range of the marked row."""
    (folder / "notes.py").write_text(NOTES.replace("FATE", crash))
    (folder / "data").mkdir()
    lines = ["name,note\n", *(f"n{row % 7},{MARKER if row == marked_row else 'fine'}\n" for row in range(ROWS))]
    (folder / "data/notes.csv").write_text("".join(lines))
    before = lines[: 1 + (marked_row or 0)]
    start = sum(map(len, before))
    return start, start + len(lines[len(before)])


def run_notes(folder: Path, *more: str) -> Outcome:
    arguments = ["notes.py", "--data", "data", "--out", "out", "--workers", "2", "--part-bytes", str(PART_BYTES)]
    with Run(folder, *arguments, *more) as run:
        return run.end()


def names_part_with(message: str, start: int, end: int) -> bool:
    found = re.search(r"part \d+ of notes \(notes\.csv, bytes (\d+) to (\d+)\)", message)
    return found is not None and int(found[1]) <= start < end <= int(found[2])


def test_part_that_kills_its_workers_fails_the_job_and_is_named(tmp_path: Path) -> None:
    crashes = tmp_path / "crashes"
    crash = f"open({str(crashes)!r}, 'a').write('x'); os.kill(os.getpid(), signal.SIGKILL)"
    start, end = write_notes(tmp_path, crash, marked_row=4_321)
    outcome = run_notes(tmp_path)
    assert crashes.read_text() == "xxx"
    assert outcome.code == 1
    assert names_part_with(outcome.err, start, end), outcome.err
    assert "has killed its worker 3 times" in outcome.err
    assert "Traceback" not in outcome.err
    assert answers(tmp_path / "out") == {}


def test_attempts_option_sets_the_number_of_crashes(tmp_path: Path) -> None:
    crashes = tmp_path / "crashes"
    crash = f"open({str(crashes)!r}, 'a').write('x'); os.kill(os.getpid(), signal.SIGKILL)"
    write_notes(tmp_path, crash, marked_row=10)
    outcome = run_notes(tmp_path, "--attempts", "1")
    assert outcome.code == 1
    assert crashes.read_text() == "x"


def test_query_that_raises_fails_the_job_at_once(tmp_path: Path) -> None:
    raised = tmp_path / "raised"
    crash = f"open({str(raised)!r}, 'a').write('x'); raise ValueError('this note cannot be read')"
    write_notes(tmp_path, crash, marked_row=4_321)
    outcome = run_notes(tmp_path)
    assert raised.read_text() == "x", "it was tried again"
    assert outcome.code == 1
    assert "scan notes, lane " in outcome.err
    assert "ValueError: this note cannot be read" in outcome.err
    assert "Traceback" not in outcome.err
    assert outcome.err.count("\n") == 1
    assert answers(tmp_path / "out") == {}


def test_same_query_succeeds_without_the_marker(tmp_path: Path) -> None:
    write_notes(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)", marked_row=None)
    assert run_notes(tmp_path).code == 0
    assert answers(tmp_path / "out")["counted"].decode().startswith("name,notes\nn0,858\nn1,857\n")


FOLDS = '''
import os
import signal
from pathlib import Path

import polars as pl

from cauce.plan import INTEGER, TEXT, Dataset, Relation, Table, Text, agg

notes = Table("notes", "notes.csv", {"name": Text(), "note": Text()})
dataset = Dataset("notes", (notes,), source=Path(__file__))


def fatal(counts: pl.Series) -> pl.Series:
    if counts.len():
        FATE
    return counts


@dataset.query(name=TEXT, notes=INTEGER)
def counted() -> Relation:
    """How many notes of each name there are"""
    found = notes.group_by("name").agg(notes=agg.count())
    checked = found.with_columns(notes=pl.col("notes").map_batches(fatal, return_dtype=pl.Int64))
    return checked.filter(pl.col("notes") > 0).sort("name")
'''


def test_crashes_of_several_partitions_count_together(tmp_path: Path) -> None:
    crashes = tmp_path / "crashes"
    crash = f"open({str(crashes)!r}, 'a').write('x'); os.kill(os.getpid(), signal.SIGKILL)"
    write_notes(tmp_path, "pass", marked_row=None)
    (tmp_path / "notes.py").write_text(FOLDS.replace("FATE", crash))
    outcome = run_notes(tmp_path)
    assert outcome.code == 1
    # Each of the two workers may run a different partition in each of the three rounds.
    assert 3 <= len(crashes.read_text()) <= 6
    assert "is quarantined" in outcome.err
    assert "partition" in outcome.err
    assert "Traceback" not in outcome.err
