"""Processes from /proc, identified by pid and start time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from cauce.process.table import is_readable, is_running, open_pidfd, reap, send_signal, shown, start_of
from tests.service.running import until

SLEEPS = [sys.executable, "-c", "import time; time.sleep(60)"]


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(SLEEPS)
    yield process
    process.kill()
    process.wait()


def test_a_pid_with_another_start_is_another_process(child: subprocess.Popen[bytes]) -> None:
    start = start_of(child.pid)
    assert is_running(child.pid, start)
    assert not is_running(child.pid, start + 1)
    assert open_pidfd(child.pid, start + 1) is None
    assert not send_signal(child.pid, start + 1, signal.SIGKILL)
    assert child.poll() is None
    assert send_signal(child.pid, start, signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL


def test_an_exit_makes_the_descriptor_readable_and_its_code_is_reaped(child: subprocess.Popen[bytes]) -> None:
    fd = open_pidfd(child.pid, start_of(child.pid))
    assert fd is not None
    assert not is_readable(fd)
    assert reap(child.pid) is None
    child.send_signal(signal.SIGTERM)
    until("the end", lambda: is_readable(fd))
    assert shown(child.pid) is None
    assert reap(child.pid) == -signal.SIGTERM
    os.close(fd)


def test_a_stopped_process_is_shown_as_such(child: subprocess.Popen[bytes]) -> None:
    child.send_signal(signal.SIGSTOP)
    until("the stop", lambda: getattr(shown(child.pid), "state", "") == "T")
    # A stopped process can still be killed.
    assert send_signal(child.pid, start_of(child.pid), signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL


def test_a_process_that_does_not_exist_is_not_shown() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    start = start_of(process.pid)
    process.wait()
    assert start_of(process.pid) != start or start == 0
    assert not send_signal(process.pid, start, signal.SIGKILL)
    assert reap(process.pid) is None
