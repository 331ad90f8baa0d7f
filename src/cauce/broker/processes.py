"""Processes that outlive the command which started them: started, recognised and ended by their ids, never by name."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

DESCRIPTORS = 65_536
LOOK_EVERY_S = 0.02
A_MOMENT_S = 0.001
LAUNCH = """\
limit=$1 log=$2 pid=$3
shift 3
ulimit -S -n "$limit" 2>/dev/null
"$@" </dev/null >>"$log" 2>&1 &
echo $! >"$pid"
"""
"""Starts a process that is not our child, so that nobody has to wait for it, and notes its id before anyone can be
killed in between. Descriptors are limited: Erlang makes room for as many as it may have, be it a thousand million."""


def launch(command: Sequence[str], environment: Mapping[str, str], log: Path, pid_file: Path) -> None:
    """Starts a process in a session of its own; its id goes to a file."""
    log.parent.mkdir(parents=True, exist_ok=True)
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
    """The process whose id is in a file, if it lives and has the mark."""
    try:
        pid = int(pid_file.read_text())
    except (FileNotFoundError, ValueError):
        return None
    return pid if runs(pid, mark) else None


def runs(pid: int, mark: str) -> bool:
    """Whether this process lives and is the one whose command line has the mark."""
    return mark in _command(pid)


def _command(pid: int) -> str:
    """The command line; empty for a process that is gone or only waits to be buried."""
    if not os.path.isdir("/proc/self"):
        asked = ["ps", "-ww", "-o", "command=", "-p", str(pid)]
        return subprocess.run(asked, stdout=subprocess.PIPE, check=False).stdout.decode(errors="replace")
    try:
        # A process that is just becoming another program has none for a moment.
        while not (line := Path(f"/proc/{pid}/cmdline").read_bytes()) and _is_alive(pid):
            time.sleep(A_MOMENT_S)
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return line.replace(b"\0", b" ").decode(errors="replace")


def _is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"


def send(pid: int, number: signal.Signals) -> None:
    """Nothing happens to a process that is gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def wait_gone(pids: Iterable[int], mark: str, patience_s: float) -> list[int]:
    """Waits for processes to end; returns those that still run when the patience is over."""
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
    """Until the process ends, where the kernel can tell; else for a moment."""
    if not hasattr(os, "pidfd_open"):
        time.sleep(min(LOOK_EVERY_S, patience_s))
        return
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        select.select([watched], [], [], patience_s)
    finally:
        os.close(watched)
