"""The worker process: runs steps until SIGTERM, and exits with its parent."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import replace
from types import FrameType
from typing import Protocol

from setproctitle import setproctitle

from cauce.datasets.registry import Registry
from cauce.errors import CauceError, FabricFull
from cauce.fabric.contract import Fabric
from cauce.job.job_log import Witness
from cauce.job.topology import TaskSpec
from cauce.process.lease_count import LeaseCountFile
from cauce.process.limits import raise_file_limit
from cauce.process.oom import WORKER, raise_oom_score
from cauce.process.progress import listen
from cauce.process.telemetry.logs import close_logs, start_logs
from cauce.process.telemetry.traces import open_traces
from cauce.worker.crash_causes import HostWitness
from cauce.worker.events import EXIT_FAILED, EXIT_FULL, GRACE_S, Assignment
from cauce.worker.job_table import Host
from cauce.worker.loop import Worker
from cauce.worker.memory.spill import FileSpill, spill_folder
from cauce.worker.set_aside import SetAside
from cauce.worker.stats import Stats
from cauce.worker.tasks.limits import Limits

SHORTEST_PAUSE_S, SHORT_PAUSE_S, LONGEST_PAUSE_S = 0.0005, 0.01, 0.05
"""How long an idle worker sleeps: at first, after a tenth of a second, and after some seconds without work."""
IDLE_SHARE, MOST_PAUSE_S = 0.02, 0.25
"""A worker that holds many waiting tasks needs milliseconds to poll all of them. After some seconds without work it
sleeps longer, so that polling takes this share of a processor, but never longer than that."""

STATS_VARIABLE = "CAUCE_STATS"
"""Set to `off`, workers append no task statistics: to measure their cost."""

LEASES_SHARE = 4
"""One in this many of the files that a process may open is for leases; the others are for logs and libraries."""

_SHOWN_S = 0.05
"""Interval at which the number of leases is shown."""
_PR_SET_PDEATHSIG = 1


def exit_with_parent(parent: int) -> None:
    """Makes the kernel kill this process when its parent exits for any reason (on Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(EXIT_FAILED)


class Stop:
    """`asked` becomes true at SIGTERM. A step that exceeds the grace period after that is aborted.

    Ctrl-C reaches every process of a terminal. A worker of a pool ignores it, since the process that started the pool
    handles it; a standalone worker is `interruptible`."""

    def __init__(self, *, interruptible: bool = False) -> None:
        self.asked = False
        signal.signal(signal.SIGTERM, self._ask)
        signal.signal(signal.SIGINT, self._ask if interruptible else signal.SIG_IGN)
        signal.signal(signal.SIGALRM, self._exit)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        signal.setitimer(signal.ITIMER_REAL, GRACE_S)

    def _exit(self, number: int, frame: FrameType | None) -> None:
        os._exit(0)


class HeartbeatSender(Protocol):
    """Sends heartbeats, only between steps and between slices of a step: a separate thread would continue while the
    work hangs. A heartbeat may end the process."""

    def due(self, news: int) -> bool:
        """Whether a heartbeat is due. It is due early if `news` has changed since the last one."""

    def beat(self, *, progress: int, work: Assignment) -> None: ...


def work(
    fabric: Fabric,
    name: str,
    limits: Limits | None = None,
    heartbeat_sender: HeartbeatSender | None = None,
    *,
    datasets: Registry | None = None,
    interruptible: bool = False,
    witness: Witness | None = None,
) -> int:
    """Runs a worker until SIGTERM. Returns the exit code of its process. `datasets` are those that its jobs may use;
    the default are the built-in ones."""
    raise_oom_score(WORKER)
    limits = replace(limits or Limits(), leases=max(raise_file_limit() // LEASES_SHARE, 1))
    shown = _ShownLeases(f"cauce worker {name}")
    stop = Stop(interruptible=interruptible)
    traces = open_traces("worker")
    with_stats = traces is not None or os.environ.get(STATS_VARIABLE) != "off"
    stats = Stats(fabric, traces=traces) if with_stats else None
    in_service = heartbeat_sender is not None or interruptible
    log_set_aside = _SetAsideLog(name, structured=in_service)

    def spill(job: str, spec: TaskSpec) -> FileSpill:
        return FileSpill(spill_folder(fabric.scratch(job), job), spec.name)

    datasets = datasets or Registry()
    host = Host(datasets, witness or HostWitness(), log_set_aside, time.monotonic, spill)
    worker = Worker(fabric, limits, None, stats, host)
    heartbeat = _Heartbeat(worker, heartbeat_sender)
    listen(heartbeat.tick)
    idle = _IdlePause()
    try:
        while not stop.asked:
            heartbeat.beat_if_due()
            shown.update(worker)
            more = worker.step()
            if worker.moved:
                idle.reset()
            if not more:
                idle.sleep()
        worker.release_all_leases()
    except FabricFull as problem:
        # The parent of the workers of a run reports it once for all of them.
        return EXIT_FULL if heartbeat_sender is None else _report(name, problem, EXIT_FULL, structured=in_service)
    except CauceError as problem:
        return _report(name, problem, EXIT_FAILED, structured=in_service)
    finally:
        listen(None)
    fabric.close()
    if traces is not None:
        traces.close()
    close_logs()
    return 0


class _IdlePause:
    """The pause after a round without work. It grows while there is none."""

    def __init__(self) -> None:
        self._pause_s = SHORTEST_PAUSE_S
        self._woken_at = time.process_time()

    def reset(self) -> None:
        self._pause_s = SHORTEST_PAUSE_S

    def sleep(self) -> None:
        polled_s = time.process_time() - self._woken_at
        time.sleep(idle_pause_s(self._pause_s, polled_s))
        growth = 1.3 if self._pause_s < SHORT_PAUSE_S else 1.01
        self._pause_s = min(self._pause_s * growth, LONGEST_PAUSE_S)
        self._woken_at = time.process_time()


def idle_pause_s(pause_s: float, polled_s: float) -> float:
    """The pause after a round that took `polled_s` of processor time."""
    if pause_s < LONGEST_PAUSE_S:
        return pause_s
    return min(max(pause_s, polled_s / IDLE_SHARE), MOST_PAUSE_S)


class _Heartbeat:
    """Sends heartbeats. Their progress counts steps and slices of steps. Other tasks may run between slices."""

    def __init__(self, worker: Worker, heartbeat_sender: HeartbeatSender | None) -> None:
        self._worker = worker
        self._sender = heartbeat_sender
        self._ticks = 0

    def tick(self) -> None:
        self._ticks += 1
        self.beat_if_due()
        self._worker.yield_to_others()

    def beat_if_due(self) -> None:
        if self._sender is not None and self._sender.due(self._worker.taken):
            self._sender.beat(progress=self._worker.steps + self._ticks, work=self._worker.assignment())


class _SetAsideLog:
    """Logs that a job is set aside: structured in a service, as a sentence in a run."""

    def __init__(self, name: str, *, structured: bool) -> None:
        self._name = name
        self._structured = structured

    def __call__(self, aside: SetAside) -> None:
        if self._structured:
            start_logs("worker").warning(
                "job set aside",
                worker=self._name,
                job=aside.job,
                code=aside.code,
                problem=" ".join(str(aside.problem).split()),
                tries=aside.tries,
                retry_s=aside.pause_s,
            )
            return
        # A full disk must not end the worker because of a log line.
        with suppress(OSError):
            sys.stderr.write(f"cauce worker {self._name}: [{aside.code}] {aside}\n")
            sys.stderr.flush()


class _ShownLeases:
    """The number of leases of the worker: for people in the process title, for tools in a file."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._shown = 0
        self._next = 0.0
        self._file = LeaseCountFile()
        self._file.write(0)
        setproctitle(name)

    def update(self, worker: Worker) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _SHOWN_S
        held = worker.leases
        if held != self._shown:
            self._shown = held
            self._file.write(held)
            setproctitle(f"{self._name} holds {held}" if held else self._name)


def _report(name: str, problem: CauceError, code: int, *, structured: bool) -> int:
    if structured:
        start_logs("worker").error("worker failed", worker=name, code=problem.code, cause=str(problem))
        close_logs()
        return code
    sys.stderr.write(f"cauce worker {name}: [{problem.code}] {problem}\n")
    sys.stderr.flush()
    return code
