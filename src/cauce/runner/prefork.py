"""The prefork server of a run: loads all libraries once and forks workers, so that a crashed one is replaced within
milliseconds. It must never compute anything, so that it has no state and starts no threads. It exits with its parent,
and its workers exit with it.

Its parent may send it the plan of the job: then it forks workers that have the plan already, the first ones and those
that replace them.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from setproctitle import setproctitle

import cauce.job.result_formats  # noqa: F401  (loaded before forking, as everything a worker needs)
from cauce.datasets.registry import RunRegistry
from cauce.errors import FabricError
from cauce.fabric.address import shown
from cauce.fabric.contract import Durability
from cauce.fabric.factory import open_fabric
from cauce.job.manifest import keep_plan
from cauce.process.limits import keep_memory, raise_file_limit
from cauce.process.memory_limit import MemoryBudget
from cauce.process.private_files import UMASK
from cauce.process.starting import fork
from cauce.runner.plan_pipe import AWAITS_PLAN, READ_BYTES, PlanInput
from cauce.scan.native.loading import prepare
from cauce.worker.events import EXIT_FAILED, FABRIC_VARIABLE, Event
from cauce.worker.process import exit_with_parent, work
from cauce.worker.tasks.limits import Limits

RESTART_PAUSES_S = (0.0, 0.0, 0.1, 0.3, 1.0)
"""Backoff before the first, second, … restart of a worker that exited soon after its start."""

STEADY_S = 5.0
"""A worker that has run this long resets its backoff."""


@dataclass
class _Child:
    number: int
    pid: int = 0
    started: float = 0.0
    quick_exits: int = 0
    due: float = 0.0


class PreforkServer:
    def __init__(
        self,
        fabric: str,
        workers: int,
        durability: Durability,
        limits: Limits,
        dataset: str,
        *,
        awaits_plan: bool = False,
    ) -> None:
        """With `awaits_plan`, workers are started when the plan of the job has arrived."""
        self._limits = limits
        self._input = PlanInput() if awaits_plan else None
        self._plan: bytes | None = None
        self._datasets = RunRegistry(dataset)
        self._fabric = fabric
        self._durability = durability
        self._children = [_Child(number) for number in range(workers)]
        self._stopping = False

    def run(self) -> int:
        signal.signal(signal.SIGTERM, lambda *_: self._stop())
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # The exit of a child must wake the select below.
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        signal.set_wakeup_fd(wake_write)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while not self._stopping or any(child.pid for child in self._children):
            self._start_due()
            readable, _, _ = select.select([0, wake_read], [], [], 0.1)
            if wake_read in readable:
                os.read(wake_read, 4096)
            if 0 in readable:
                self._receive(os.read(0, READ_BYTES))
            self._reap()
        return 0

    def _receive(self, data: bytes) -> None:
        """The next bytes of the plan; none when the parent has exited."""
        if not data:
            self._stop()
        elif self._input is not None:
            self._input.add(data)
            self._plan = self._input.plan
            if self._plan is not None:
                self._input = None

    def _stop(self) -> None:
        self._stopping = True
        for child in self._children:
            if child.pid:
                os.kill(child.pid, signal.SIGTERM)

    def _start_due(self) -> None:
        if self._input is not None:
            return
        now = time.monotonic()
        for child in self._children:
            if not child.pid and not self._stopping and child.due <= now:
                self._start(child, now)

    def _start(self, child: _Child, now: float) -> None:
        parent = os.getpid()

        def run() -> int:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            exit_with_parent(parent)
            os.close(0)
            _redirect_stdout()
            try:
                fabric = open_fabric(self._fabric, self._durability)
            except FabricError:
                # The run itself, which uses the same fabric, reports it.
                return EXIT_FAILED
            if self._plan is not None:
                # Not in the prefork server: expressions may load code that starts threads.
                keep_plan(self._plan)
            return work(fabric, str(child.number), self._limits, datasets=self._datasets)

        pid = fork(run)
        child.pid, child.started = pid, now
        _send(Event("started", child.number, pid))

    def _reap(self) -> None:
        for child in self._children:
            if not child.pid:
                continue
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if pid == 0:
                continue
            code = os.waitstatus_to_exitcode(status)
            _send(Event("died", child.number, pid, max(-code, 0), max(code, 0)))
            now = time.monotonic()
            child.quick_exits = 0 if now - child.started > STEADY_S else child.quick_exits + 1
            child.due = now + RESTART_PAUSES_S[min(child.quick_exits, len(RESTART_PAUSES_S) - 1)]
            child.pid = 0


def _send(event: Event) -> None:
    """Writes one line to the parent. If the parent is gone, exits; the workers exit with this process."""
    try:
        os.write(1, msgspec.json.encode(event) + b"\n")
    except BrokenPipeError:
        os._exit(EXIT_FAILED)


def _redirect_stdout() -> None:
    """In a worker: redirects what a dataset's code prints to standard error. Standard output is the event pipe; every
    worker keeps it open, so that the parent reads end-of-file when all workers have exited."""
    os.dup(1)
    os.dup2(2, 1)
    # Unbuffered, so that no output is lost when a worker is killed.
    sys.stdout = sys.stderr


def make_ready() -> None:
    """Loads once what each worker would otherwise load itself."""
    # Polars loads it with the first array that it is given.
    import numpy.ma  # noqa: F401

    prepare()


def main(arguments: Sequence[str]) -> int:
    fabric, workers, durability, journal, attempts, worker_bytes, plan, parent, dataset = arguments
    setproctitle(f"cauce prefork server {shown(fabric)}")
    # Before the workers open their fabrics: the limit decides how many files these keep open.
    raise_file_limit()
    os.umask(UMASK)
    budget = MemoryBudget(int(worker_bytes))
    keep_memory(budget.kept_bytes)
    make_ready()
    exit_with_parent(int(parent))
    limits = Limits(
        journal=journal == "journal",
        lethal_attempts=int(attempts),
        run_id=f"{os.getpid()}-{time.time_ns()}",
        collected_bytes=budget.collected_bytes,
    )
    durable: Durability = "power" if durability == "power" else "process"
    awaits_plan = plan == AWAITS_PLAN
    return PreforkServer(fabric, int(workers), durable, limits, dataset, awaits_plan=awaits_plan).run()


if __name__ == "__main__":
    sys.exit(main([os.environ.pop(FABRIC_VARIABLE), *sys.argv[1:]]))
