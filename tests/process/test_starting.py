"""Starting of processes: forks exit with the code of their function, modules are found in the installed package."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
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


FORKS = """
import os, signal
from cauce.process.starting import fork

parent = os.getpid()

def interrupt(*_):
    if os.getpid() != parent:
        raise KeyboardInterrupt

signal.signal(signal.SIGINT, interrupt)
os.write(1, b"ready\\n")
children = [fork(lambda: 0) for _ in range(300)]
print({os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children})
"""


def test_a_fork_that_is_interrupted_at_its_start_prints_nothing() -> None:
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", FORKS]
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        interrupts = 0
        while process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
            interrupts += 1
            time.sleep(0.0002)
        out, err = process.communicate(timeout=60)
    assert (out, err) == ("{0}\n", "")
    assert interrupts > 100
