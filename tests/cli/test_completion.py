"""Completion in real interactive shells, for `./cauce` of a clone and for an installed `cauce`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.cli.running import cauce
from tests.terminal.terminal import Terminal

SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(./cauce completion bash)"'),
    "zsh": (["zsh", "-f", "-i"], 'autoload -Uz compinit; compinit -u; eval "$(./cauce completion zsh)"'),
    "fish": (["fish", "--no-config", "-i"], "./cauce completion fish | source"),
}
TAB = "\t"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A directory with the program `cauce`, as a clone has it once its environment is set up."""
    program = tmp_path / "cauce"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m cauce "$@"\n')
    program.chmod(0o755)
    (tmp_path / "home").mkdir()
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shell", "typed"), [("bash", "./cauce"), ("bash", "cauce"), ("zsh", "./cauce"), ("fish", "./cauce")]
)
def test_a_shell_completes_commands_options_and_datasets(shell: str, typed: str, clone: Path) -> None:
    command, setup = SHELLS[shell]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{shell} is not installed")
    environment = {"PATH": f"{clone}:/usr/bin:/bin", "HOME": str(clone / "home"), "PS1": "$ ", "INPUTRC": "/dev/null"}
    terminal = Terminal(command, width=120, cwd=clone, environment=environment)
    try:
        terminal.press(f"{setup}; echo the-set-up-is-'done'\r")
        terminal.wait_for("the-set-up-is-done")
        terminal.press(f"{typed} gen{TAB}")
        terminal.wait_for("generate")
        terminal.press(f"cof{TAB}")
        terminal.wait_for("coffee")
        terminal.press(f"--sca{TAB}")
        terminal.wait_for("--scale")
    finally:
        terminal.kill()


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_a_shell_is_printed(shell: str, tmp_path: Path) -> None:
    outcome = cauce(tmp_path, "completion", shell)
    assert (outcome.code, outcome.err) == (0, "")
    assert "_cauce_completion" in outcome.out


def test_an_unknown_shell_is_refused(tmp_path: Path) -> None:
    outcome = cauce(tmp_path, "completion", "tcsh")
    assert outcome.code == 2
    assert "unknown shell tcsh; expected one of bash, zsh, fish" in outcome.err
