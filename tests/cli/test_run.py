"""`cauce run`: the files it writes, its output, and what happens to files of an earlier run."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from cauce.api.formats import FORMATS
from tests.cli.running import cauce, small_books, written
from tests.e2e.comparing import assert_same
from tests.e2e.rows import book, books_folder, review
from tests.oracle.api import answer

ANSWERS = [f"q{number}.csv" for number in range(1, 6)]


def found(out: Path) -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in out.iterdir()}


def test_answers_and_rejects_are_written_and_reported(tmp_path: Path) -> None:
    small_books(tmp_path / "data")
    outcome = cauce(tmp_path, "run", "books", "--data", "data", "--out", "deep/out")
    assert outcome.code == 0
    assert written(tmp_path / "deep/out") == [*ANSWERS, "rejects.csv"]
    assert_same(found(tmp_path / "deep/out"), answer("books", tmp_path / "data"))
    assert outcome.err.splitlines() == [
        "note rejected 1 cell in 1 row, all listed in deep/out/rejects.csv",
        "  books, column authors: 1 cell: not a list of texts",
        "    such as books_data.csv line 4: 'nobody'",
        "    correct the cells, or declare it as Text()",
    ]
    assert "books: 5 queries over 503 rows, " in outcome.out
    assert outcome.out.rstrip().endswith("answers in deep/out/")


def test_output_has_no_colours_and_takes_no_markup_from_data(tmp_path: Path) -> None:
    small_books(tmp_path / "data")
    outcome = cauce(tmp_path, "run", "books", "--data", "data", "--queries", "q1, q3", "--out", "out")
    assert "\x1b" not in outcome.out + outcome.err
    assert "[bold]systems[/bold]" in outcome.out
    assert written(tmp_path / "out") == ["q1.csv", "q3.csv", "rejects.csv"]
    assert "books.q1" in outcome.out
    assert "books.q2" not in outcome.out


def test_an_earlier_run_is_replaced_and_its_rejects_removed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "rejects.csv").write_text("stale")
    (out / "q1.csv").write_text("stale, and longer than the new answer will be" * 9)
    (out / "notes.txt").write_text("mine")
    books_folder(tmp_path / "data", [book("T")], [review("T")])
    outcome = cauce(tmp_path, "run", "books", "--data", "data", "--out", "out")
    assert (outcome.code, outcome.err) == (0, "")
    assert written(out) == ["notes.txt", *ANSWERS]
    assert (out / "q1.csv").read_text() == "title,authors,publisher\n"
    assert (out / "notes.txt").read_text() == "mine"


def test_a_file_that_turns_out_broken_fails_with_1_and_leaves_the_earlier_answers(tmp_path: Path) -> None:
    small_books(tmp_path / "data")
    packed = gzip.compress((tmp_path / "data/Books_rating.csv").read_bytes() * 50, 1)
    (tmp_path / "data/Books_rating.csv").unlink()
    (tmp_path / "data/Books_rating.csv.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "out").mkdir()
    (tmp_path / "out/q3.csv").write_text("earlier")
    outcome = cauce(tmp_path, "run", "books", "--data", "data", "--queries", "q3", "--out", "out")
    assert outcome.code == 1
    assert outcome.err.startswith("error [job-failed] Books_rating.csv.gz cannot be decompressed")
    assert "Traceback" not in outcome.err
    # The work folder may stay, for the same command to go on with; of the new answers nothing may.
    assert [name for name in written(tmp_path / "out") if not name.startswith(".cauce-work")] == ["q3.csv"]
    assert (tmp_path / "out/q3.csv").read_text() == "earlier"


@pytest.mark.slow
def test_a_place_that_cannot_be_written_fails_with_1(tmp_path: Path) -> None:
    small_books(tmp_path / "data")
    (tmp_path / "out/q1.csv/in the way").mkdir(parents=True)
    outcome = cauce(tmp_path, "run", "books", "--data", "data", "--queries", "q1", "--out", "out")
    assert outcome.code == 1
    assert "Traceback" not in outcome.err
    assert outcome.err.startswith("error [")


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_every_format(form: str, tmp_path: Path) -> None:
    small_books(tmp_path / "data")
    outcome = cauce(tmp_path, "run", "books", "--data", "data", "--queries", "q3", "--format", form, "--out", "out")
    assert outcome.code == 0
    assert written(tmp_path / "out") == [f"q3.{form}", "rejects.csv"]


@pytest.mark.slow
def test_options_change_no_byte(tmp_path: Path) -> None:
    small_books(tmp_path / "data")
    cauce(tmp_path, "run", "books", "--data", "data", "--out", "plain")
    cauce(tmp_path, "run", "books", "--data", "data", "--out", "other", "--partitions", "7", "--workers", "1")
    cauce(tmp_path, "run", "books", "--data", "data", "--out", "vader", "--sentiment", "vader")
    assert found(tmp_path / "plain") == found(tmp_path / "other") == found(tmp_path / "vader")


@pytest.mark.slow
def test_answers_may_lie_beside_the_data(tmp_path: Path) -> None:
    small_books(tmp_path)
    for _ in range(2):
        assert cauce(tmp_path, "run", "books", "--data", ".", "--out", ".").code == 0
    assert written(tmp_path) == ["Books_rating.csv", "books_data.csv", *ANSWERS, "rejects.csv"]
