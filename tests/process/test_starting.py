"""Starting of processes: forks exit with the code of their function, modules are found in the installed package."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from cauce.process.starting import FORK_FAILED, fork, module_command


def exit_code(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_fork_exits_with_the_code_of_its_function() -> None:
    assert exit_code(fork(lambda: 7)) == 7


def test_an_exception_in_a_fork_is_printed_and_ends_it(capfd: pytest.CaptureFixture[str]) -> None:
    def fail() -> int:
        raise ValueError("broken on purpose")

    assert exit_code(fork(fail)) == FORK_FAILED
    assert "ValueError: broken on purpose" in capfd.readouterr().err


def test_a_module_in_the_current_directory_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "cauce.py").write_text("raise SystemExit('the wrong module')")
    done = subprocess.run(module_command("cauce", "--version"), cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("cauce ")
