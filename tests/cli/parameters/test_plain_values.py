"""Values that are converted without Pydantic, compared with those that Typer converts itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.core import TyperCommand

from cauce.cli.help import CommandLine, HelpfulCommand

GIVEN: dict[str, list[str]] = {
    "nothing": [],
    "texts": ["--text", "é", "--many", "a", "--many", "b=c"],
    "an empty text": ["--text", ""],
    "a path": ["--path", "a/../b"],
    "an empty path": ["--path", ""],
    "paths": ["--paths", "a", "--paths", "/tmp"],
    "numbers": ["--count", "007", "--share", "0.5"],
    "the largest number": ["--count", "10"],
    "a number that is too large": ["--count", "11"],
    "a negative number": ["--count", "-1"],
    "a number with a sign": ["--count", "+5"],
    "a number with spaces": ["--count", " 5 "],
    "a number with an underscore": ["--count", "1_0"],
    "a very long number": ["--count", "0000000000000005"],
    "other digits": ["--count", "٣"],
    "a text for a number": ["--count", "x"],
    "flags": ["--flag", "--no-switch"],
    "an unknown option": ["--sugar"],
    "a value that is missing": ["--count"],
}


def outcome(kind: type[TyperCommand], arguments: list[str]) -> object:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    called: list[dict[str, Any]] = []

    @app.command(cls=kind)
    def show(
        text: Annotated[str, typer.Option()] = "t",
        many: Annotated[list[str] | None, typer.Option()] = None,
        path: Annotated[Path | None, typer.Option()] = None,
        paths: Annotated[list[Path] | None, typer.Option()] = None,
        count: Annotated[int, typer.Option(min=0, max=10)] = 3,
        share: Annotated[float, typer.Option(min=0.0)] = 1.0,
        flag: Annotated[bool, typer.Option("--flag")] = False,
        switch: Annotated[bool, typer.Option()] = True,
    ) -> None:
        called.append(dict(locals()))

    try:
        app(arguments, standalone_mode=False)
    except Exception as problem:  # noqa: BLE001  (compared)
        return type(problem), str(problem)
    return [{name: (type(value), value) for name, value in each.items() if name != "called"} for each in called]


@pytest.mark.parametrize("name", GIVEN)
def test_values_and_messages_are_those_of_typer(name: str) -> None:
    assert outcome(HelpfulCommand, GIVEN[name]) == outcome(TyperCommand, GIVEN[name])


def test_an_unreadable_path_is_refused_as_by_typer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *given, **named: False)
    given = ["--path", str(tmp_path)]
    assert outcome(HelpfulCommand, given) == outcome(TyperCommand, given)
    assert "not readable" in str(outcome(HelpfulCommand, given))


def test_a_command_is_a_command_of_the_command_line() -> None:
    app = CommandLine("A command.")
    app.command()(lambda: None)
    assert isinstance(typer.main.get_command(app), HelpfulCommand)


def test_plain_values_do_not_load_pydantic() -> None:
    code = (
        "import sys; sys.argv = ['cauce', 'explain', 'books', '--partitions', '2']\n"
        "from cauce.cli.entry import entry\n"
        "try: entry()\n"
        "except SystemExit: pass\n"
        "assert 'pydantic' not in sys.modules, 'pydantic'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
