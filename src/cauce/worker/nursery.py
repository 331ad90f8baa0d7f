"""A process that has everything loaded and forks workers from itself: a dead one is replaced in milliseconds.

It never computes, so that it has nothing to lose and no threads of its own making; it ends when its parent does,
and its workers end with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

# One thread a process for everything: the processes are the parallelism. Read when the libraries load.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ["POLARS_MAX_THREADS"] = "1"

import msgspec
from setproctitle import setproctitle

import cauce.wire.formats  # noqa: F401  (loaded before forking, as everything a worker needs)
from cauce.fabric.address import open_fabric, shown
from cauce.fabric.contract import Durability
from cauce.native.store import surroundings, target_machine
from cauce.worker.events import EXIT_FAILED, Event
from cauce.worker.process import die_with_parent, work
from cauce.worker.tasks import Limits

RESTART_PAUSES_S = (0.0, 0.0, 0.1, 0.3, 1.0)
"""Before the first, second, … restart of a worker that has died soon after its start."""

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3

STEADY_S = 5.0
"""A worker that has lived this long counts as having started well."""


@dataclass
class _Child:
    number: int
    pid: int = 0
    started: float = 0.0
    quick_deaths: int = 0
    due: float = 0.0


class Nursery:
    def __init__(self, fabric: str, workers: int, durability: Durability, limits: Limits) -> None:
        self._limits = limits
        self._fabric = fabric
        self._durability = durability
        self._children = [_Child(number) for number in range(workers)]
        self._stopping = False

    def run(self) -> int:
        signal.signal(signal.SIGTERM, lambda *_: self._stop())
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # A child's death must wake the select below.
        woken, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while not self._stopping or any(child.pid for child in self._children):
            self._start_due()
            readable, _, _ = select.select([0, woken], [], [], 0.1)
            if woken in readable:
                os.read(woken, 4096)
            if 0 in readable and not os.read(0, 4096):
                self._stop()
            self._reap()
        return 0

    def _stop(self) -> None:
        self._stopping = True
        for child in self._children:
            if child.pid:
                os.kill(child.pid, signal.SIGTERM)

    def _start_due(self) -> None:
        now = time.monotonic()
        for child in self._children:
            if not child.pid and not self._stopping and child.due <= now:
                self._start(child, now)

    def _start(self, child: _Child, now: float) -> None:
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            code = EXIT_FAILED
            try:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                die_with_parent(parent)
                os.close(0)
                _keep_events_apart()
                code = work(open_fabric(self._fabric, self._durability), str(child.number), self._limits)
            finally:
                sys.stderr.flush()
                # Not a normal exit: what the nursery loaded is not this process's to take down.
                os._exit(code)
        child.pid, child.started = pid, now
        _tell(Event("started", child.number, pid))

    def _reap(self) -> None:
        for child in self._children:
            if not child.pid:
                continue
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if pid == 0:
                continue
            code = os.waitstatus_to_exitcode(status)
            _tell(Event("died", child.number, pid, max(-code, 0), max(code, 0)))
            now = time.monotonic()
            child.quick_deaths = 0 if now - child.started > STEADY_S else child.quick_deaths + 1
            child.due = now + RESTART_PAUSES_S[min(child.quick_deaths, len(RESTART_PAUSES_S) - 1)]
            child.pid = 0


def keep_memory() -> None:
    """Has glibc keep what is freed for the next part: to get it anew costs a tenth of the time."""
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL("libc.so.6").mallopt
        for setting, value in ((_M_MMAP_THRESHOLD, 1 << 30), (_M_TRIM_THRESHOLD, 1 << 30), (_M_TOP_PAD, 1 << 26)):
            mallopt(setting, value)


def _tell(event: Event) -> None:
    """One line for the parent. Without a parent there is no run: the workers die with this process."""
    try:
        os.write(1, msgspec.json.encode(event) + b"\n")
    except BrokenPipeError:
        os._exit(EXIT_FAILED)


def _keep_events_apart() -> None:
    """In a worker: what a dataset's own code prints goes to standard error. Standard output is the pipe for events;
    the worker keeps it open, so that its end shows that every worker has exited."""
    os.dup(1)
    os.dup2(2, 1)
    # Written at once: a worker that is killed writes nothing more.
    sys.stdout = sys.stderr


def make_ready() -> None:
    """Loads what workers would else load one by one."""
    target_machine()
    surroundings()


def main(arguments: Sequence[str]) -> int:
    fabric, workers, durability, noting, attempts, parent = arguments
    setproctitle(f"cauce nursery {shown(fabric)}")
    keep_memory()
    make_ready()
    die_with_parent(int(parent))
    limits = Limits(journal=noting == "journal", lethal_attempts=int(attempts), life=f"{os.getpid()}-{time.time_ns()}")
    return Nursery(fabric, int(workers), "power" if durability == "power" else "process", limits).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
