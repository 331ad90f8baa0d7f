"""Handle of a run on its prefork server: starts it, reads the events of its workers, and stops or kills them."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import msgspec

from cauce.errors import FabricError, FabricFull
from cauce.fabric.address import shown
from cauce.fabric.contract import Durability
from cauce.process.isolation import may_fork
from cauce.process.limits import one_thread_environment
from cauce.process.signals import signals_blocked, signals_deferred
from cauce.process.starting import module_command
from cauce.runner.forked_server import ForkedServer
from cauce.runner.plan_pipe import AWAITS_PLAN, framed
from cauce.worker.events import EXIT_FULL, FABRIC_VARIABLE, GRACE_S, Event

HOPELESS_EXITS = 5
"""Consecutive worker exits with an error after which a run fails."""


@dataclass
class WorkerPool:
    fabric: str
    size: int
    dataset: str
    """The only dataset that the workers load: the name of a built-in one, or the path of its file."""
    durability: Durability = "process"
    journal: bool = True
    attempts: int = 3
    worker_bytes: int = 0
    """The memory of a worker; 0: no limit."""
    pids: dict[int, int] = field(default_factory=dict)
    restarts: int = 0
    events: list[Event] = field(default_factory=list)
    fork: bool = False
    """Whether to fork the first prefork server from this process, which has already loaded the libraries."""
    awaits_plan: bool = False
    """Whether workers are started when `give_plan` has sent them the plan of the job. Otherwise they plan it."""
    _plan: bytes = b""
    _process: subprocess.Popen[bytes] | ForkedServer | None = None
    _unread: bytes = b""
    _errors_in_a_row: int = 0

    def start(self) -> None:
        journal = "journal" if self.journal else "no-journal"
        parent = str(os.getpid())
        arguments = [str(self.size), self.durability, journal, str(self.attempts), str(self.worker_bytes)]
        arguments += [AWAITS_PLAN if self.awaits_plan else "", parent, self.dataset]
        if self.fork and may_fork():
            # Only once, before this process has started its own work.
            self.fork = False
            with _no_interrupt():
                self._process = ForkedServer([self.fabric, *arguments])
        else:
            with _no_interrupt():
                self._process = subprocess.Popen(
                    module_command("cauce.runner.prefork", *arguments),
                    # Not an argument: all users of the machine can read arguments, and it may hold a password.
                    env={**one_thread_environment(), FABRIC_VARIABLE: self.fabric},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        self._send_plan()

    def give_plan(self, dump: Callable[[], bytes]) -> None:
        """Sends the plan that all jobs of this pool have to the prefork server that awaits it, and to those that
        replace this one."""
        if self.awaits_plan and not self._plan:
            self._plan = framed(dump())
            self._send_plan()

    def _send_plan(self) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        # A prefork server that has crashed is replaced, and the other one gets the plan.
        with suppress(BrokenPipeError):
            self._process.stdin.write(self._plan)
            self._process.stdin.flush()

    @property
    def server_pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def watch(self) -> list[Event]:
        """Returns the events since the last call. Replaces a crashed prefork server, whose workers exited with it."""
        assert self._process is not None
        if self._process.poll() is not None:
            self._close()
            self.pids.clear()
            self.restarts += 1
            self.start()
        fresh = self._read_events()
        for event in fresh:
            self._handle(event)
        self.events += fresh
        return fresh

    def _read_events(self) -> list[Event]:
        assert self._process is not None
        assert self._process.stdout is not None
        try:
            data = os.read(self._process.stdout.fileno(), 1 << 16)
        except BlockingIOError:
            return []
        *lines, self._unread = (self._unread + data).split(b"\n")
        return [msgspec.json.decode(line, type=Event) for line in lines if line]

    def _handle(self, event: Event) -> None:
        if event.what == "started":
            self.restarts += event.worker in self.pids
            self.pids[event.worker] = event.pid
            return
        if event.code == EXIT_FULL:
            place = shown(self.fabric).removeprefix("files:")
            raise FabricFull(
                f"no space left for the work files in {place}; free some space there, then run the same command again: "
                "it continues where it stopped; or choose another directory with --work"
            )
        self._errors_in_a_row = self._errors_in_a_row + 1 if event.code else 0
        if self._errors_in_a_row >= HOPELESS_EXITS:
            raise FabricError(
                f"{HOPELESS_EXITS} workers in a row ended with an error (exit code {event.code}); the causes are "
                "printed above: correct them and run the same command again"
            )

    def stop(self) -> None:
        """Lets workers finish their step and release their leases; kills those that exceed the timeout."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(GRACE_S + 0.5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._close()
        self._process = None

    def begin_kill(self) -> None:
        """Sends the signal of `kill` and does not wait: a worker with much memory takes a tenth of a second to exit."""
        if self._process is not None:
            self._process.kill()

    def kill(self) -> None:
        """Kills the workers. Only when they have nothing left to do."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._wait_for_workers()
            self._close()
            self._process = None

    def _wait_for_workers(self) -> None:
        """Waits until every worker has exited (each holds the pipe open), so that the directory can be removed."""
        assert self._process is not None
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        deadline = time.monotonic() + GRACE_S
        while (left_s := deadline - time.monotonic()) > 0:
            if select.select([pipe], [], [], left_s)[0] and not os.read(pipe, 1 << 16):
                return

    def _close(self) -> None:
        assert self._process is not None
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._unread = b""


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """Defers interruptions of this process, so that no started process is leaked. A process started meanwhile has
    SIGINT blocked: Ctrl-C in a terminal, and the interrupt of a notebook's kernel, go to the whole process group, but
    only this process decides when its workers exit."""
    with signals_deferred(signal.SIGINT, signal.SIGTERM), signals_blocked(signal.SIGINT):
        yield
