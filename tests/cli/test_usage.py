"""Wrong requests: one clear sentence on standard error, exit code 2, nothing written, no traceback."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cauce.cli.entry import entry
from cauce.errors import UsageError
from tests.cli.parsing import options, parse
from tests.cli.running import Outcome, cauce, small_books, written

RUN = ("run", "books", "--data", "data")
CASES: dict[str, tuple[tuple[str, ...], str]] = {
    "missing folder": (("run", "books", "--data", "nowhere", "--out", "out"), "directory nowhere does not exist"),
    "data is a file": (("run", "books", "--data", "file", "--out", "out"), "file is a file, not a directory"),
    "missing file": (("run", "flights", "--data", "data", "--out", "out"), "airports-codepublic.csv"),
    "wrong columns": (("run", "books", "--data", "other", "--out", "out"), "lacks Title"),
    "a file without any byte": (("run", "books", "--data", "hollow", "--out", "out"), "books_data.csv"),
    "a header with broken quoting": (("run", "books", "--data", "broken", "--out", "out"), "books_data.csv"),
    "a file twice": (("run", "books", "--data", "twice", "--out", "out"), "the same file twice"),
    "unknown query": ((*RUN, "--queries", "q1,q9", "--out", "out"), "unknown query of books: q9; expected one of q1"),
    "unknown dataset": (("run", "tea", "--data", "data", "--out", "out"), "unknown dataset tea; expected one of books"),
    "unknown dataset file": (("run", "tea.py", "--data", "data", "--out", "out"), "file tea.py does not exist"),
    "unknown format": (
        (*RUN, "--format", "xml", "--out", "out"),
        "unknown format xml; expected one of csv, json, parquet, arrow",
    ),
    "unknown parameter": ((*RUN, "--param", "x=1", "--out", "out"), "unknown parameter of books: x"),
    "parameter without a value": ((*RUN, "--param", "x", "--out", "out"), "name=value"),
    "unknown scorer": (
        (*RUN, "--sentiment", "mood", "--out", "out"),
        "unknown value of sentiment: mood; expected one of vader, textblob",
    ),
    "scorer of a dataset without texts": (
        ("run", "coffee", "--data", "data", "--sentiment", "vader", "--out", "out"),
        "dataset coffee has no texts to score",
    ),
    "out is a file": ((*RUN, "--out", "file"), "file is a file; --out expects a directory"),
    "out is below a file": ((*RUN, "--out", "file/deep/er"), "file is a file; --out expects a directory"),
    "explain of an unknown query": (("explain", "books", "--queries", "q9"), "unknown query of books: q9"),
    "explain of an unknown dataset": (("explain", "tea"), "unknown dataset tea"),
    "generator of an unknown dataset": (("generate", "tea", "--out", "out"), "unknown dataset tea"),
    "scale of nothing": (("generate", "books", "--out", "out", "--scale", "0"), "--scale must be greater than 0"),
    "endless scale": (("generate", "books", "--out", "out", "--scale", "inf"), "scale must be above 0"),
    "generate into a file": (("generate", "books", "--out", "file"), "file is a file; --out expects a directory"),
    "demo into a file": (("demo", "--out", "file"), "file is a file; --out expects a directory"),
    "a dataset file that declares none": (("run", "empty.py", "--data", "data", "--out", "out"), "declares no dataset"),
}
IN_A_PROCESS = ["missing folder", "wrong columns", "out is below a file"]
"""Those that the quick tests start a process for; the others run in this one, and in their own when there is time."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    small_books(tmp_path / "data")
    (tmp_path / "file").write_text("precious")
    (tmp_path / "empty.py").write_text("answer = 42\n")
    for name, content in {"other": "a,b\n", "hollow": "", "broken": '"Title"x,authors\n'}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "books_data.csv").write_text(content)
        (tmp_path / name / "Books_rating.csv").write_text("Title,review/score,review/text\n")
    small_books(tmp_path / "twice")
    (tmp_path / "twice/books_data.csv.gz").write_bytes(b"")
    return tmp_path


def check(outcome: Outcome, sentence: str) -> None:
    assert outcome.code == 2
    assert outcome.err.startswith("error [")
    assert sentence in outcome.err
    assert outcome.err.count("\n") == 1
    assert "Traceback" not in outcome.err
    assert outcome.out == ""


@pytest.mark.parametrize("case", CASES)
def test_an_invalid_request_is_reported_in_one_sentence(
    case: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, sentence = CASES[case]
    before = written(folder)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["cauce", *arguments])
    with pytest.raises(SystemExit) as ended:
        entry()
    output = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    check(Outcome(ended.value.code, output.out, output.err), sentence)
    assert written(folder) == before


@pytest.mark.parametrize(
    "case", [case if case in IN_A_PROCESS else pytest.param(case, marks=pytest.mark.slow) for case in CASES]
)
def test_a_process_of_a_wrong_request_ends_with_2_and_writes_nothing(case: str, folder: Path) -> None:
    arguments, sentence = CASES[case]
    before = written(folder)
    check(cauce(folder, *arguments), sentence)
    assert written(folder) == before
    assert (folder / "file").read_text() == "precious"


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("run",),
        ("run", "books"),
        ("brew",),
        ("run", "books", "--data", "data", "--partitions", "5000"),
        ("run", "books", "--data", "data", "--workers", "-1"),
        ("run", "books", "--data", "data", "--sugar"),
    ],
)
def test_arguments_that_the_parser_refuses_end_with_2(arguments: tuple[str, ...], folder: Path) -> None:
    before = written(folder)
    outcome = cauce(folder, *arguments)
    assert outcome.code == 2
    assert "Usage:" in outcome.err
    assert "Traceback" not in outcome.err
    assert written(folder) == before


@pytest.mark.parametrize("name", sorted(name for name, known in options().items() if "--fabric" in known))
def test_every_command_checks_the_address_of_its_fabric_before_it_runs(name: str) -> None:
    with pytest.raises(UsageError, match="invalid fabric address") as problem:
        parse([*name.split(), "--fabric", "amqp:/me:secret@host"])
    assert "secret" not in str(problem.value)
