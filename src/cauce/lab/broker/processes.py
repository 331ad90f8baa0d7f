"""Processes that survive the command that started them. They are identified and stopped by id, never by name."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from cauce.process.private_files import make_directory
from cauce.process.table import command_line

DESCRIPTORS = 65_536
LAUNCH = """\
limit=$1 log=$2 pid=$3
shift 3
ulimit -S -n "$limit" 2>/dev/null
umask 077
"$@" </dev/null >>"$log" 2>&1 &
echo $! >"$pid"
"""
"""Starts a process that is not our child, so that it needs no wait, and writes its id in the same shell, so that a kill
cannot separate the two. Descriptors are limited, because Erlang allocates memory for as many as its limit allows."""


def launch(command: Sequence[str], environment: Mapping[str, str], log: Path, pid_file: Path) -> None:
    """Starts a process in its own session and writes its id to a file."""
    make_directory(log.parent)
    subprocess.run(
        ["/bin/sh", "-c", LAUNCH, "launch", str(DESCRIPTORS), str(log), str(pid_file), *command],
        env=environment,
        cwd=log.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        check=True,
    )


def running(pid_file: Path, mark: str) -> int | None:
    """The process whose id is in a file, if it is alive and has the mark."""
    try:
        pid = int(pid_file.read_text())
    except (FileNotFoundError, ValueError):
        return None
    return pid if runs(pid, mark) else None


def runs(pid: int, mark: str) -> bool:
    """Whether this process is alive and its command line has the mark."""
    return mark in command_line(pid)


def wait_gone(pids: Iterable[int], mark: str, patience_s: float) -> list[int]:
    """Waits for processes to exit; returns those that still run after the timeout."""
    deadline = time.monotonic() + patience_s
    return [pid for pid in pids if not _gone(pid, mark, deadline)]


def _gone(pid: int, mark: str, deadline: float) -> bool:
    while runs(pid, mark):
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        _wait_end(pid, left)
    return True


def _wait_end(pid: int, patience_s: float) -> None:
    """Waits for the exit of a process."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        select.select([watched], [], [], patience_s)
    finally:
        os.close(watched)
