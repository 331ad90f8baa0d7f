"""Commands that draw progress bars run to their end in a real terminal, and leave it as they found it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.terminal.terminal import cauce, run_in_terminal
from tests.terminal.terminals import KINDS, check

IN_EVERY_ROUND = ("xterm-80", "dumb")


@pytest.mark.parametrize(
    "kind", [each if each in IN_EVERY_ROUND else pytest.param(each, marks=pytest.mark.soak) for each in KINDS]
)
def test_demo(kind: str, tmp_path: Path) -> None:
    arguments = cauce("demo", "--out", str(tmp_path / "demo"), "--scale", "0.0005")
    session = run_in_terminal(arguments, **KINDS[kind].options)
    check(session, KINDS[kind])
    assert "Nineteen queries answered" in session.text


def test_an_unexpected_error_is_one_line_and_restores_the_terminal(tmp_path: Path) -> None:
    """The error strikes while a progress bar has hidden the cursor."""
    program = (
        "import sys; from cauce.cli import entry; from cauce.lab import generators\n"
        "def fail(*args, **named): raise RuntimeError('a planted\\nerror')\n"
        "generators.generate = fail\n"
        f"sys.argv = ['cauce', 'generate', 'books', '--out', {str(tmp_path / 'x')!r}]\n"
        "entry.entry()\n"
    )
    session = run_in_terminal([cauce()[0], "-c", program], environment={"TMPDIR": str(tmp_path)})
    assert session.code == 1
    assert session.cursor_shown
    assert "Traceback" not in session.text
    (details,) = tmp_path.glob("cauce-error-*.txt")
    assert session.last_lines[-1].startswith("error [internal] RuntimeError: a planted error")
    assert "a planted\nerror" in details.read_text()
