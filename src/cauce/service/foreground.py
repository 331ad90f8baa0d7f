"""`cauce serve` in the foreground: shows the logs of the service and stops it on a signal.

The service must not depend on this process: if it is killed, the service continues.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from cauce.doctor.control import read_desired_state, stop_all
from cauce.doctor.launch.service_dir import Cluster, ServiceDir
from cauce.doctor.launch.spawn import spawn
from cauce.doctor.model.names import role_of
from cauce.doctor.model.status import RESTARTING, ClusterStatus, ProcessStatus
from cauce.doctor.query import QueryClient
from cauce.errors import CauceError, JobFailed
from cauce.process.table import is_running

LOOK_S = 0.05
ASK_S = 0.5
CARE_S = 1.0
START_TRIES = 5
_PR_SET_CHILD_SUBREAPER = 36


@dataclass
class LogTail:
    """Copies new lines of all process logs to stderr."""

    folder: Path
    shown: bool = True
    reformat: bool = True
    """Whether JSON lines are shown as text on a terminal."""
    _read: dict[str, int] = field(default_factory=dict)

    def skip(self) -> None:
        """Skips lines of earlier runs."""
        self._read = {path.name: path.stat().st_size for path in self.folder.glob("*.log")}

    def copy(self) -> None:
        if not self.shown:
            return
        for path in sorted(self.folder.glob("*.log")):
            with suppress(FileNotFoundError):
                self._copy(path)
        sys.stderr.flush()

    def _copy(self, path: Path) -> None:
        size, start = path.stat().st_size, self._read.get(path.name, 0)
        # A smaller file was truncated by a rotation.
        start = start if size >= start else 0
        if size == start:
            return
        with path.open("rb") as file:
            file.seek(start)
            whole = file.read(size - start).rpartition(b"\n")
        self._read[path.name] = start + len(whole[0]) + len(whole[1])
        for line in whole[0].decode(errors="replace").split("\n") if whole[1] else []:
            sys.stderr.write((_readable(line) if self.reformat and sys.stderr.isatty() else line) + "\n")


def _readable(line: str) -> str:
    """A JSON log line in human-readable form."""
    try:
        fields = msgspec.json.decode(line, type=dict[str, object])
    except msgspec.MsgspecError:
        return line
    when, what = str(fields.pop("time", ""))[11:19], fields.pop("event", "")
    fields.pop("level", None)
    return f"{when} {what:<24} " + " ".join(f"{name}={value}" for name, value in fields.items())


class Foreground:
    """The foreground process of a service."""

    def __init__(self, home: ServiceDir, cluster: Cluster, tail: LogTail, warn: Callable[[str], None]) -> None:
        self._home = home
        self._cluster = cluster
        self._tail = tail
        self._warn = warn
        self._stopping = False
        self._checked = time.monotonic()
        self._alone_since = time.monotonic()

    def take_over_signals(self) -> None:
        """Handles signals from now on, and adopts orphans, so that `ps` shows the service as one tree."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._ask_to_stop())
        if sys.platform == "linux":
            ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1)

    def _ask_to_stop(self) -> None:
        self._stopping = True

    def wait_ready(self) -> bool:
        """Waits until all gateways accept requests. False if a signal came first, or the service was stopped."""
        with QueryClient(self._cluster) as client:
            while not self._stopping and self._ensure_doctor():
                self._poll()
                view = client.status(ASK_S)
                if view is not None and _ready(view):
                    return True
                if view is not None and (failed := [row for row in view.rows if _cannot_start(row)]):
                    self.end()
                    raise JobFailed(
                        f"{failed[0].name} cannot start: {failed[0].reason}; see its log in {self._home.logs}"
                    )
                time.sleep(LOOK_S)
        return False

    def wait(self) -> None:
        """Waits for a signal, or until the service is stopped by another process."""
        while not self._stopping and self._ensure_doctor():
            self._poll()
            time.sleep(LOOK_S)

    def end(self) -> None:
        stop_all(self._home, self._warn)
        self._poll()

    def _poll(self) -> None:
        self._tail.copy()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass

    def _ensure_doctor(self) -> bool:
        """Starts a doctor if none is running. False if the service is stopped."""
        now = time.monotonic()
        if now - self._checked < CARE_S:
            return True
        self._checked = now
        if any(role_of(each.name) == "doctor" for each in self._home.running_processes()):
            self._alone_since = now
            return True
        if now - self._alone_since < self._cluster.timing.orphan:
            return True
        self._alone_since = now
        pid, started = self._cluster.stop_with
        # The doctors may have stopped for this reason before one of them was elected and could record it.
        if not self._home.run.is_dir() or (pid and not is_running(pid, started)):
            return False
        with suppress(CauceError):
            if not read_desired_state(self._home).running:
                return False
        spawn(self._home, min(self._cluster.doctors))
        return True


def _cannot_start(row: ProcessStatus) -> bool:
    """Whether it has crashed so often right after its start that a retry will not help."""
    return row.state == RESTARTING and row.crashes >= START_TRIES


def _ready(view: ClusterStatus) -> bool:
    gateways = [row for row in view.rows if row.role == "gateway" and row.state != "stopped"]
    # Before the leader has read the desired state, its list of gateways is empty.
    return view.leads and view.running and all(row.ready and row.state == "running" for row in gateways)
