"""Command lines that are parsed without Typer, compared with what Typer makes of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cauce.cli import entry
from cauce.cli.main import run_command_line
from cauce.cli.options import ConnectionOptions, FileOptions, QueryOptions, RunOptions
from cauce.cli.parameters.direct import NotPlain, parse
from cauce.cli.sql import SqlOptions

PLAIN = {
    "run": ["run", "books", "--data", "d"],
    "run, all kinds": ["run", "x.py", "--data=d", "--out", "o", "--queries", "q1,q2", "--workers", "2", "--power-safe"],
    "run, repeated": ["run", "books", "--param", "a=1", "--data", "d", "--param", "b=2", "--no-journal"],
    "run, zero": ["run", "books", "--data", "d", "--partitions", "0", "--journal", "--memory", "1GB"],
    "sql": ["sql", "SELECT 1"],
    "sql, all kinds": ["sql", "-f", "q.sql", "--data", ".", "--type", "a.b=text", "--type", "c.d=decimal", "--explain"],
    "sql, empty value": ["sql", "SELECT 1", "--max-rejects=", "--on", "shop", "--gateway", "http://a"],
    "sql, argument last": ["sql", "--data", "d", "SELECT a -- b"],
}
LEFT_TO_TYPER = {
    "help": ["run", "--help"],
    "unknown option": ["run", "books", "--data", "d", "--nope"],
    "abbreviated option": ["run", "books", "--dat", "d"],
    "missing argument": ["run", "--data", "d"],
    "missing option": ["run", "books"],
    "missing value": ["run", "books", "--data"],
    "option as a value": ["run", "books", "--data", "--out"],
    "two arguments": ["sql", "SELECT 1", "SELECT 2"],
    "given twice": ["run", "books", "--data", "d", "--data", "e"],
    "flag with a value": ["run", "books", "--data", "d", "--power-safe=1"],
    "not a number": ["run", "books", "--data", "d", "--workers", "two"],
    "negative": ["run", "books", "--data", "d", "--workers=-1"],
    "above the limit": ["run", "books", "--data", "d", "--workers", "257"],
    "configuration": ["run", "books", "--data", "d", "--config", "c.toml"],
    "secret": ["run", "books", "--data", "d", "--fabric", "amqp://a:b@c"],
    "end of options": ["sql", "--", "SELECT 1"],
    "combined short option": ["sql", "-fq.sql"],
}
STRUCTS = {"run": (FileOptions, QueryOptions, RunOptions), "sql": (SqlOptions, RunOptions, ConnectionOptions)}


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [each for each in entry.os.environ if each.startswith("CAUCE_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def directly(words: list[str], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    called: list[Any] = []
    _record(called, monkeypatch)
    assert entry._run_directly(words)
    return called


def by_typer(words: list[str], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    called: list[Any] = []
    _record(called, monkeypatch)
    monkeypatch.setattr(sys, "argv", ["cauce", *words])
    with pytest.raises(SystemExit):
        run_command_line(words)
    return called


def _record(called: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The options of a command; of `sql` also those that are on the command line."""

    def sql(*given: Any) -> None:
        *structs, is_given = given
        names = [name for struct in structs for name in vars(struct)]
        called.extend([*structs, {name for name in names if is_given(name)}])

    monkeypatch.setattr("cauce.cli.run.run_command", lambda *given: called.extend(given))
    monkeypatch.setattr("cauce.cli.sql.sql_command", sql)


@pytest.mark.parametrize("name", PLAIN)
def test_options_are_those_of_typer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = directly(PLAIN[name], monkeypatch)
    assert found
    assert found == by_typer(PLAIN[name], monkeypatch)


@pytest.mark.parametrize("name", LEFT_TO_TYPER)
def test_everything_else_is_left_to_typer(name: str) -> None:
    command, *words = LEFT_TO_TYPER[name]
    with pytest.raises(NotPlain):
        parse(words, STRUCTS[command])


def test_an_unreadable_path_is_left_to_typer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *given, **named: False)
    with pytest.raises(NotPlain):
        parse(["SELECT 1", "--data", str(tmp_path)], STRUCTS["sql"])


def test_a_variable_leaves_the_command_to_typer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAUCE_SQL_DATA", "d")
    assert not entry._run_directly(["sql", "SELECT 1"])


def test_a_configuration_file_leaves_the_command_to_typer() -> None:
    Path("cauce.toml").write_text("[sql]\ndata = 'd'\n")
    assert not entry._run_directly(["sql", "SELECT 1"])


def test_a_plain_command_loads_neither_typer_nor_rich(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n2\n")
    code = (
        "import sys; sys.argv = ['cauce', 'sql', 'SELECT sum(x) AS s FROM a', '--data', sys.argv[1]]\n"
        "from cauce.cli.entry import entry\n"
        "try: entry()\n"
        "except SystemExit as ended: assert not ended.code\n"
        "print(sorted({'typer', 'rich', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")
