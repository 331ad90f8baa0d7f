"""A worker as a process: steps until it is told to stop, and dies with its parent."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from types import FrameType
from typing import Protocol

from setproctitle import setproctitle

from cauce.errors import CauceError, FabricFull
from cauce.fabric.contract import Fabric
from cauce.wire.traces import open_traces
from cauce.worker.events import EXIT_FAILED, EXIT_FULL, GRACE_S
from cauce.worker.loop import Worker
from cauce.worker.stats import Stats
from cauce.worker.tasks import Limits

SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.0005, 0.01
"""How long a worker that finds nothing to do sleeps, at first and at most."""

STATS_VARIABLE = "CAUCE_STATS"
"""Set to `off`, workers say nothing of their tasks: to measure what that costs."""

HOLDS = " holds "
"""In the title of a worker, before the number of its leases."""

_TITLE_S = 0.05
_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """The kernel kills this process when its parent dies, however the parent dies (on Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(EXIT_FAILED)


class Stop:
    """Becomes true at SIGTERM; a step that takes too long after that is aborted.

    Ctrl-C reaches every process of a terminal. A worker of a pool leaves it to the process that started the pool; a
    worker on its own is `interruptible`."""

    def __init__(self, *, interruptible: bool = False) -> None:
        self.asked = False
        signal.signal(signal.SIGTERM, self._ask)
        signal.signal(signal.SIGINT, self._ask if interruptible else signal.SIG_IGN)
        signal.signal(signal.SIGALRM, self._cut_off)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        signal.setitimer(signal.ITIMER_REAL, GRACE_S)

    def _cut_off(self, number: int, frame: FrameType | None) -> None:
        os._exit(0)


class Pulse(Protocol):
    """Signs of life, given between steps and nowhere else. One of them may end the process."""

    def due(self, news: int) -> bool:
        """Whether it is time for one. A number that has changed since the last one is worth telling early."""

    def beat(self, *, progress: int, work: str) -> None: ...


def work(
    fabric: Fabric,
    name: str,
    limits: Limits | None = None,
    pulse: Pulse | None = None,
    *,
    interruptible: bool = False,
) -> int:
    """Runs a worker until it is told to stop. Returns the exit code of its process."""
    title = _Title(f"cauce worker {name}")
    stop = Stop(interruptible=interruptible)
    traces = open_traces("worker")
    told = traces is not None or os.environ.get(STATS_VARIABLE) != "off"
    worker = Worker(fabric, limits, stats=Stats(fabric, traces=traces) if told else None)
    pause_s = SHORTEST_PAUSE_S
    try:
        while not stop.asked:
            if pulse is not None and pulse.due(worker.taken):
                pulse.beat(progress=worker.steps, work=_at_work(worker))
            title.show(worker)
            more = worker.step()
            if worker.moved:
                pause_s = SHORTEST_PAUSE_S
            if more:
                continue
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.3, LONGEST_PAUSE_S)
        worker.give_all_back()
    except FabricFull as problem:
        # The process that watches the workers of a run reports it once for all of them.
        return EXIT_FULL if pulse is None else _say(name, problem, EXIT_FULL)
    except CauceError as problem:
        return _say(name, problem, EXIT_FAILED)
    fabric.close()
    if traces is not None:
        traces.close()
    return 0


class _Title:
    """What `ps` shows: who this is, and how many leases it holds."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._shown = 0
        self._next = 0.0
        setproctitle(name)

    def show(self, worker: Worker) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _TITLE_S
        held = worker.leases
        if held != self._shown:
            self._shown = held
            setproctitle(f"{self._name}{HOLDS}{held}" if held else self._name)


def _at_work(worker: Worker) -> str:
    """For people: the first task held, and how many more there are."""
    held = worker.held()
    more = f", and {len(held) - 1} more" if len(held) > 1 else ""
    return f"{held[0][0]}: {held[0][1]}{more}" if held else ""


def _say(name: str, problem: CauceError, code: int) -> int:
    sys.stderr.write(f"cauce worker {name}: [{problem.code}] {problem}\n")
    sys.stderr.flush()
    return code
