"""The workers of a run, as the process that started them sees them: what happened to each, and how to end them."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec

from cauce.errors import FabricError, FabricFull
from cauce.fabric.address import shown
from cauce.fabric.contract import Durability
from cauce.worker.events import EXIT_FULL, GRACE_S, Event
from cauce.worker.forked import Forked, may_fork

HOPELESS_EXITS = 5
"""So many exits of workers with an error in a row, without one that goes on, end a run."""


@dataclass
class Crew:
    fabric: str
    size: int
    durability: Durability = "process"
    journal: bool = True
    attempts: int = 3
    pids: dict[int, int] = field(default_factory=dict)
    restarts: int = 0
    events: list[Event] = field(default_factory=list)
    fork: bool = False
    """Whether the first nursery is this process forked, which has loaded all that workers need."""
    _process: subprocess.Popen[bytes] | Forked | None = None
    _unread: bytes = b""
    _errors_in_a_row: int = 0

    def start(self) -> None:
        noting = "journal" if self.journal else "no-journal"
        arguments = [self.fabric, str(self.size), self.durability, noting, str(self.attempts), str(os.getpid())]
        if self.fork and may_fork():
            # Once, before this process has begun its own work.
            self.fork = False
            self._process = Forked(arguments)
        else:
            with _no_interrupt():
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "cauce.worker.nursery", *arguments],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)

    @property
    def nursery_pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def watch(self) -> list[Event]:
        """What has happened since the last look. A nursery that died is replaced; its workers died with it."""
        assert self._process is not None
        if self._process.poll() is not None:
            self._close()
            self.pids.clear()
            self.restarts += 1
            self.start()
        fresh = self._read_events()
        for event in fresh:
            self._note(event)
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

    def _note(self, event: Event) -> None:
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
        """Workers finish their step and give their leases back; one that does not in time is killed."""
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

    def kill(self) -> None:
        """Ends the workers at once: for when there is nothing left for them to do."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._wait_for_workers()
            self._close()
            self._process = None

    def _wait_for_workers(self) -> None:
        """Until the last worker has exited: each holds the other end of the pipe. Their folder may be removed then."""
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
    """Postpones KeyboardInterrupt in this process, so that no process is started and then forgotten. A process started
    meanwhile never receives SIGINT: Ctrl-C in a terminal, and the interruption of a notebook's kernel, go to the whole
    process group, but this process alone decides when its workers end."""
    interrupts: list[int] = []
    # Handlers belong to the main thread; no other thread is ever interrupted.
    in_main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number)) if in_main else None
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if handler is not None:
            signal.signal(signal.SIGINT, handler)
        if interrupts:
            signal.raise_signal(signal.SIGINT)
