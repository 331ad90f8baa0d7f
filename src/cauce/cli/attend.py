"""`cauce serve` in the foreground: whoever started the service stays with it, shows its logs, and ends it at a signal.

It is nobody that the service needs: killed, the rest goes on.
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

from cauce.doctor.asking import Asker
from cauce.doctor.children import spawn
from cauce.doctor.control import desired, stop_all
from cauce.doctor.home import Cluster, Home
from cauce.doctor.names import role_of
from cauce.doctor.view import RESTARTING, Row, View
from cauce.errors import CauceError, JobFailed

LOOK_S = 0.05
ASK_S = 0.5
CARE_S = 1.0
START_TRIES = 5
_PR_SET_CHILD_SUBREAPER = 36


@dataclass
class LogTail:
    """Copies what is added to the logs of all processes."""

    folder: Path
    shown: bool = True
    _read: dict[str, int] = field(default_factory=dict)

    def skip(self) -> None:
        """What is there already is of an earlier time."""
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
        # One that has become smaller was begun anew.
        start = start if size >= start else 0
        if size == start:
            return
        with path.open("rb") as file:
            file.seek(start)
            whole = file.read(size - start).rpartition(b"\n")
        self._read[path.name] = start + len(whole[0]) + len(whole[1])
        for line in whole[0].decode(errors="replace").split("\n") if whole[1] else []:
            sys.stderr.write((_words(line) if sys.stderr.isatty() else line) + "\n")


def _words(line: str) -> str:
    """A line of a log for people."""
    try:
        said = msgspec.json.decode(line, type=dict[str, object])
    except msgspec.MsgspecError:
        return line
    when, what = str(said.pop("time", ""))[11:19], said.pop("event", "")
    said.pop("level", None)
    return f"{when} {what:<24} " + " ".join(f"{name}={value}" for name, value in said.items())


class Attendant:
    def __init__(self, home: Home, cluster: Cluster, tail: LogTail, warn: Callable[[str], None]) -> None:
        self._home = home
        self._cluster = cluster
        self._tail = tail
        self._warn = warn
        self._stopping = False
        self._cared = time.monotonic()
        self._alone_since = time.monotonic()

    def stay_by(self) -> None:
        """Signals are ours from here on, and orphans become our children, so that `ps` shows who belongs together."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._ask_to_stop())
        if sys.platform == "linux":
            ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1)

    def _ask_to_stop(self) -> None:
        self._stopping = True

    def wait_ready(self) -> bool:
        """Until all gateways take requests. False if it was told to stop before."""
        with Asker(self._cluster) as asker:
            while not self._stopping:
                self._look()
                view = asker.view(ASK_S)
                if view is not None and _ready(view):
                    return True
                if view is not None and (failed := [row for row in view.rows if _cannot_start(row)]):
                    self.end()
                    raise JobFailed(
                        f"{failed[0].name} cannot be started: {failed[0].why}; its log is in {self._home.logs}"
                    )
                time.sleep(LOOK_S)
        return False

    def stay(self) -> None:
        """Until a signal, or until somebody else has ended the service."""
        while not self._stopping and self._cares():
            self._look()
            time.sleep(LOOK_S)

    def end(self) -> None:
        stop_all(self._home, self._warn)
        self._look()

    def _look(self) -> None:
        self._tail.copy()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass

    def _cares(self) -> bool:
        """Starts a doctor where none is left. False if none should be."""
        now = time.monotonic()
        if now - self._cared < CARE_S:
            return True
        self._cared = now
        if any(role_of(each.name) == "doctor" for each in self._home.survivors()):
            self._alone_since = now
            return True
        if now - self._alone_since < self._cluster.timing.orphan:
            return True
        self._alone_since = now
        if not self._home.run.is_dir():
            return False
        with suppress(CauceError):
            if not desired(self._home).running:
                return False
        spawn(self._home, min(self._cluster.doctors))
        return True


def _cannot_start(row: Row) -> bool:
    """Whether it has crashed so often, each time soon after its start, that something must be wrong."""
    return row.state == RESTARTING and row.crashes >= START_TRIES


def _ready(view: View) -> bool:
    waited = [row for row in view.rows if row.role == "gateway" and row.state != "stopped"]
    # Until it has read what is desired, a leader knows of nobody to wait for.
    return view.leads and view.running and all(row.ready and row.state == "running" for row in waited)
