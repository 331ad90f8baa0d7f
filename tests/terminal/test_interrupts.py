"""Ctrl-C and stray keys in a real terminal: a clean end, one line that says what happened, and the cursor back."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.running import cauce as in_pipes
from tests.service.running import end_service
from tests.terminal.conftest import OPEN, Site
from tests.terminal.terminal import Session, Terminal, cauce
from tests.terminal.terminals import KINDS, check

CTRL_C, ENTER, UP = "\x03", "\r", "\x1b[A"
XTERM = KINDS["xterm-80"]


@contextmanager
def terminal_of(folder: Path, *arguments: str) -> Iterator[Terminal]:
    terminal = Terminal(cauce(*arguments), cwd=folder)
    try:
        yield terminal
    finally:
        terminal.kill()


def interrupted(folder: Path, arguments: list[str], once: str) -> Session:
    """The output of a command that is interrupted once it has printed this."""
    with terminal_of(folder, *arguments) as terminal:
        terminal.wait_for(once)
        terminal.press(CTRL_C)
        return terminal.end()


def last_line(session: Session) -> str:
    return session.last_lines[-1].removeprefix("^C")


@pytest.fixture(scope="module")
def long_run(data: Path) -> list[str]:
    """A run of many tiny parts."""
    return ["run", "books", "--data", str(data), "--out", "answers", "--part-bytes", "1024", "--workers", "1"]


def test_an_interrupted_run_prints_the_command_to_continue_and_continues(
    long_run: list[str], data: Path, tmp_path: Path
) -> None:
    session = interrupted(tmp_path, long_run, "0:00:00")
    check(session, XTERM, code=130)
    output = last_line(session)
    assert output.startswith("note interrupted; the work so far is kept in ")
    program, *again = shlex.split(output.partition("Continue with: ")[2])
    assert (program, again) == ("cauce", long_run)
    assert (tmp_path / "answers/.cauce-work").is_dir()
    assert in_pipes(tmp_path, *again).code == 0
    assert not (tmp_path / "answers/.cauce-work").exists()
    assert in_pipes(tmp_path, "run", "books", "--data", str(data), "--out", "at-once").code == 0
    for answer in (tmp_path / "at-once").iterdir():
        assert (tmp_path / "answers" / answer.name).read_bytes() == answer.read_bytes()


def test_a_run_that_is_interrupted_at_any_moment_restores_the_terminal(long_run: list[str], tmp_path: Path) -> None:
    """Ctrl-C as soon as the cursor is hidden, which is in the middle of the start of the bars."""
    with terminal_of(tmp_path, *long_run) as terminal:
        terminal.wait_for_raw(b"\x1b[?25l")
        terminal.press(CTRL_C)
        session = terminal.end()
    check(session, XTERM, code=130)
    assert "interrupted" in last_line(session)


def test_stray_keys_do_no_harm(long_run: list[str], tmp_path: Path) -> None:
    with terminal_of(tmp_path, *long_run) as terminal:
        terminal.wait_for("rows")
        terminal.press(f"{ENTER}{ENTER}q{UP}x{ENTER}")
        session = terminal.end()
    check(session, XTERM)
    assert "books: 5 queries over" in session.text


def test_an_interrupted_demo_ends_in_one_line(tmp_path: Path) -> None:
    session = interrupted(tmp_path, ["demo", "--scale", "0.01"], "books")
    check(session, XTERM, code=130)
    assert "interrupted" in last_line(session)


@pytest.mark.parametrize("command", ["submit", "watch"])
def test_an_interrupted_client_prints_the_command_to_return(
    command: str, idle: Site, data: Path, tmp_path: Path
) -> None:
    words = ["watch", OPEN] if command == "watch" else ["submit", "books", "--data", str(data), "--job", "another"]
    arguments = [*words, "--gateway", idle.url]
    session = interrupted(tmp_path, arguments, "0 of ")
    check(session, XTERM, code=130)
    output = last_line(session)
    assert output.startswith("note detached; ")
    assert " continues at the service. " in output
    again = shlex.split(output.partition("Return to it with: ")[2])
    assert again[0] == "cauce"
    assert sorted(again[1:]) == sorted(arguments)


@pytest.mark.parametrize("command", [["top", "--every", "0.2"], ["events", "--follow"]])
def test_ctrl_c_leaves_a_full_screen_view(command: list[str], idle: Site, tmp_path: Path) -> None:
    with terminal_of(tmp_path, *command, "--dir", str(idle.service)) as terminal:
        terminal.wait_for("gateway-1")
        terminal.press(f"{ENTER}q")
        terminal.press(CTRL_C)
        session = terminal.end()
    check(session, XTERM)


def test_a_service_in_the_foreground_is_stopped_with_ctrl_c(tmp_path: Path) -> None:
    counts = ["--workers", "1", "--gateways", "1", "--doctors", "1"]
    try:
        session = interrupted(tmp_path, ["serve", "--dir", "own", "--port", "0", *counts], "Cauce is ready on")
    finally:
        end_service(tmp_path / "own")
    check(session, XTERM)
    assert last_line(session) == "Stopped the service in own."
    assert "No process runs" in in_pipes(tmp_path, "stop", "--dir", "own").out


def test_ctrl_c_before_the_command_line_is_loaded_leaves_no_traceback(tmp_path: Path) -> None:
    """The signal comes while modules are loaded: a line of `-v` shows that it has started."""
    arguments = cauce("datasets")
    terminal = Terminal([arguments[0], "-v", *arguments[1:]], cwd=tmp_path)
    try:
        terminal.wait_for("import 'typer")
        terminal.press(CTRL_C)
        session = terminal.end()
    finally:
        terminal.kill()
    assert session.code == 130, session.text[-2000:]
    assert "Traceback" not in session.text
    assert "interrupted" in session.text
