"""Computations in child processes that are interrupted with their parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import pytest

PROGRAM = """
import os, time
from cauce.process.isolation import isolated_all

def compute():
    os.write(1, f"{os.getpid()}\\n".encode())
    time.sleep(60)

try:
    isolated_all([compute, compute])
except KeyboardInterrupt:
    os.write(1, b"interrupted\\n")
"""


def interrupted(*, whole_group: bool) -> tuple[list[int], str, str]:
    """The children of a parent that is interrupted, and what all of them wrote. Ctrl-C reaches the whole group."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        children = [int(process.stdout.readline()) for _ in range(2)]
        (os.killpg if whole_group else os.kill)(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    return children, out, err


@pytest.mark.parametrize("whole_group", [True, False])
def test_children_of_an_interrupted_process_end_without_a_message(*, whole_group: bool) -> None:
    children, out, err = interrupted(whole_group=whole_group)
    assert out == "interrupted\n"
    assert err == ""
    assert not any(psutil.pid_exists(child) for child in children)
