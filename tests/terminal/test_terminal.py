"""Commands that draw progress bars run to their end in a real terminal, and leave it as they found it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.terminal.terminal import Session, cauce, run_in_terminal

TERMINALS = [
    pytest.param({"term": "xterm-256color", "width": 80}, id="xterm-80"),
    pytest.param({"term": "xterm-256color", "width": 120}, id="xterm-120"),
    pytest.param({"term": "dumb", "width": 80}, id="dumb"),
    pytest.param({"environment": {"NO_COLOR": "1"}}, id="no-color"),
]


def check(session: Session) -> None:
    assert session.code == 0, session.text[-3000:]
    assert "Traceback" not in session.text
    assert session.cursor_shown
    assert session.on_main_screen


@pytest.mark.parametrize("options", TERMINALS)
def test_demo(options: dict[str, object], tmp_path: Path) -> None:
    arguments = cauce("demo", "--out", str(tmp_path / "demo"), "--scale", "0.0005")
    session = run_in_terminal(arguments, **options)
    check(session)
    assert "Nineteen queries answered" in session.text


def test_an_unexpected_error_is_one_line_and_restores_the_terminal(tmp_path: Path) -> None:
    """The error strikes while a progress bar has hidden the cursor."""
    program = (
        "import sys; from cauce.cli import main; from cauce.datasets import synth\n"
        "def fail(*args, **named): raise RuntimeError('a planted\\nerror')\n"
        "synth.generate = fail\n"
        f"sys.argv = ['cauce', 'generate', 'books', '--out', {str(tmp_path / 'x')!r}]\n"
        "main.entry()\n"
    )
    session = run_in_terminal([cauce()[0], "-c", program], environment={"TMPDIR": str(tmp_path)})
    assert session.code == 1
    assert session.cursor_shown
    assert "Traceback" not in session.text
    (details,) = tmp_path.glob("cauce-error-*.txt")
    assert session.last_lines[-1].startswith("error [internal] RuntimeError: a planted error")
    assert "a planted\nerror" in details.read_text()
