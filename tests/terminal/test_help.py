"""The help of every command, in every kind of terminal."""

from __future__ import annotations

import sys

import pytest

from tests.cli.parsing import commands
from tests.terminal.terminal import run_in_terminal
from tests.terminal.terminals import KINDS, ONE_QUICK, check

ALL = commands()
PROGRAM = """
import sys
import typer
from cauce.cli.main import app
command = typer.main.get_command(app)
for words in sys.argv[1:]:
    try:
        command.main([*words.split(), "--help"], prog_name="cauce")
    except SystemExit as ended:
        assert not ended.code, (words, ended.code)
"""
"""One process for all of them: to start one for each takes a minute."""


@pytest.mark.parametrize("kind", ONE_QUICK)
def test_help_of_every_command(kind: str) -> None:
    session = run_in_terminal([sys.executable, "-c", PROGRAM, *ALL], **KINDS[kind].options)
    check(session, KINDS[kind])
    usages = [line for line in session.text.splitlines() if line.lower().startswith("usage: cauce")]
    assert len(usages) == len(ALL)
    assert max(map(len, session.text.splitlines())) <= KINDS[kind].width
