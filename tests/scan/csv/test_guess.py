"""Guessed boundaries are right for ordinary files, and wrong guesses are detected for files made to mislead."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from cauce.errors import WrongSplit
from cauce.scan.cells.kinds import Integer, Text
from cauce.scan.csv.cut import begins_record, cut_ranges, read_header
from cauce.scan.csv.guess import LineCounts, guess_ranges
from cauce.scan.parts import Part, TableFile
from cauce.scan.reader import cuts_hold, parts_of, read_part
from cauce.scan.tables import Column, TableSpec

SPEC = TableSpec("notes", ("notes.csv",), {"id": Column("id", Integer()), "text": Column("text", Text())}, ())


def written(path: Path, rows: list[list[str]]) -> Path:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([["id", "text", "more"], *rows])
    path.write_text(out.getvalue(), encoding="utf-8", newline="")
    return path


def table(path: Path) -> list[TableFile]:
    return [TableFile(path.name, str(path), path.stat().st_size)]


def blocks(parts: Iterator[Part]) -> list[tuple[list[object], bool]]:
    read = [read_part(part, SPEC, frozenset({"id", "text"}), lambda size: np.empty(size, np.uint8)) for part in parts]
    return [
        (list(zip(block.column("id", None), block.column("text", None), strict=True)), block.whole) for block in read
    ]


@pytest.mark.parametrize("seed", range(12))
def test_guessed_parts_hold_the_same_rows(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    texts = ["plain", "with, comma", 'with "quotes"', "two\nlines", '"\n",\n', "", "x" * 300, 'naïve, "é"\n1,2,3']
    path = written(tmp_path / "notes.csv", [[str(i), chance.choice(texts), chance.choice(texts)] for i in range(3000)])
    guessed = list(parts_of(table(path), SPEC, 5_000, guess=True))
    assert len(guessed) > 10
    found = blocks(iter(guessed))
    assert all(whole for _, whole in found)
    exact = blocks(parts_of(table(path), SPEC, 5_000))
    assert [row for rows, _ in found for row in rows] == [row for rows, _ in exact for row in rows]
    assert cuts_hold(table(path), SPEC, 5_000)


@pytest.mark.parametrize("part_bytes", [9_000, 10_000, 14_000, 50_000])
def test_guessed_parts_have_equal_sizes(tmp_path: Path, part_bytes: int) -> None:
    path = written(tmp_path / "notes.csv", [[str(i), "x" * (i % 30), "more"] for i in range(1000)])
    sizes = [part.end - part.start for part in parts_of(table(path), SPEC, part_bytes, guess=True)]
    longest = max(map(len, path.read_bytes().splitlines())) + 1
    rows = path.stat().st_size - len("id,text,more\n")
    assert sum(sizes) == rows
    assert len(sizes) == -(-rows // part_bytes)
    assert all(abs(size - rows / len(sizes)) <= len(sizes) * longest for size in sizes)


def lie(lines: int) -> str:
    """A text whose lines look like records of three cells."""
    return "".join(f"{i},a lie,more\n" for i in range(lines))


def test_a_wrong_guess_is_detected(tmp_path: Path) -> None:
    path = written(tmp_path / "notes.csv", [[str(i), lie(400), "z"] for i in range(20)])
    guessed = list(parts_of(table(path), SPEC, 5_000, guess=True))
    found = blocks(iter(guessed))
    assert not all(whole for _, whole in found)
    assert not cuts_hold(table(path), SPEC, 5_000)


def test_a_file_without_anything_like_a_record_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    path.write_text("id,text,more\n" + "1,2\n" * 5_000)
    header = read_header(path, ",")
    with pytest.raises(WrongSplit, match="looks like its records"):
        list(guess_ranges(str(path), header, delimiter=",", part_bytes=1_000))


def test_one_column_is_never_guessed(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    path.write_text("id\n" + "1\n" * 5_000)
    spec = TableSpec("notes", ("notes.csv",), {"id": Column("id", Integer())}, ())
    parts = list(parts_of(table(path), spec, 1_000, guess=True))
    assert len(parts) > 5
    assert not any(part.guessed for part in parts)


def test_last_part_ends_at_the_end_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    path.write_text("id,text,more\n" + "1,2,3\n" * 1_000 + "4,5,6")
    rows = [row for rows, whole in blocks(parts_of(table(path), SPEC, 600, guess=True)) if whole for row in rows]
    assert len(rows) == 1_001
    assert rows[-1] == (4, "5")


@pytest.mark.parametrize("seed", range(5))
def test_begins_record_accepts_only_record_starts(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    path = written(tmp_path / "notes.csv", [[str(i), chance.choice(["a\nb", "c", '"']), "z"] for i in range(300)])
    starts = [each.end for each in cut_ranges(path, delimiter=",", part_bytes=100)]
    assert begins_record(path, delimiter=",", places=starts)
    wrong = sorted({*starts, chance.choice(starts[:-1]) + 1})
    assert not begins_record(path, delimiter=",", places=wrong)


def test_lines_are_counted_once_and_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    data = "".join("x" * (i % 50) + "\n" for i in range(60_000)).encode()
    path.write_bytes(data)
    counts = LineCounts()
    for place in [0, 1, 10_000, 1_400_000, len(data), 700]:
        assert counts.before(str(path), place) == data[:place].count(b"\n")
