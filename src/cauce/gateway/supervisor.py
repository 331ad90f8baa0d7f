"""`cauce serve`: a crew of workers and some gateways on one port. What dies is started again; at a signal all end.

The gateways are this process forked, with everything loaded: a dead one is replaced in milliseconds. So this process
has no threads and no event loop of its own.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from setproctitle import setproctitle

from cauce.errors import FabricError, JobFailed
from cauce.gateway.logs import start_logs
from cauce.gateway.metrics import forget_process
from cauce.gateway.process import Place, run_gateway
from cauce.gateway.settings import GatewaySettings
from cauce.worker.crew import Crew
from cauce.worker.events import EXIT_FAILED
from cauce.worker.process import die_with_parent

RESTART_PAUSES_S = (0.0, 0.0, 0.1, 0.3, 1.0)
"""Before the first, second, … restart of a gateway that has died soon after its start."""
STEADY_S = 5.0
CREW_PAUSE_S = 2.0
"""Before workers that gave up are started again: the reason, a full disk as a rule, may have passed."""
STOP_S = 4.7
"""When whatever has not ended by itself is ended."""
LOOK_S = 0.1


@dataclass
class _Child:
    number: int
    pid: int = 0
    said: int = -1
    started: float = 0.0
    quick_deaths: int = 0
    due: float = 0.0
    ready: bool = False


@dataclass
class Supervisor:
    settings: GatewaySettings
    place: Place
    gateways: int
    workers: int
    ready: Callable[[str], None]
    _children: list[_Child] = field(default_factory=list)
    _crew: Crew | None = None
    _crew_due: float = 0.0
    _stopping: bool = False
    _told: bool = False
    _hopeless: bool = False
    """Gateways died one after the other before any was ready: starting them again will not help."""

    def run(self) -> int:
        setproctitle(f"cauce serve {self.settings.folder}")
        log = self._log = start_logs("supervisor")
        bound = self._reserve()
        self.place = replace(self.place, port=bound.getsockname()[1], shared=True)
        self._start_crew()
        woken = self._catch_signals()
        self._children = [_Child(number) for number in range(self.gateways)]
        log.info("service started", folder=str(self.settings.folder), gateways=self.gateways, workers=self.workers)
        while not self._stopping and not self._hopeless:
            self._start_due()
            self._wait(woken)
            self._reap()
            self._listen(bound)
            self._watch_crew()
        self._stop()
        bound.close()
        log.info("service stopped")
        if self._hopeless:
            raise JobFailed("the gateways cannot be started; their words are above")
        return 0

    def _reserve(self) -> socket.socket:
        """A socket that keeps the port ours while gateways come and go; nobody listens on it."""
        # First not shared: with another service on the port we would get half of its requests.
        alone = replace(self.place, shared=False).bind()
        port = alone.getsockname()[1]
        alone.close()
        return replace(self.place, port=port, shared=True).bind()

    def _catch_signals(self) -> int:
        woken, wake = os.pipe()
        os.set_blocking(woken, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._ask_to_stop())
        return woken

    def _ask_to_stop(self) -> None:
        self._stopping = True

    def _wait(self, woken: int) -> None:
        readable, _, _ = select.select(
            [woken, *(each.said for each in self._children if each.said >= 0)], [], [], LOOK_S
        )
        if woken in readable:
            os.read(woken, 4096)

    def _start_due(self) -> None:
        now = time.monotonic()
        for child in self._children:
            if not child.pid and child.due <= now and not self._stopping:
                self._start(child, now)

    def _start(self, child: _Child, now: float) -> None:
        parent = os.getpid()
        said, saying = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            code = EXIT_FAILED
            try:
                signal.set_wakeup_fd(-1)
                for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
                    signal.signal(number, signal.SIG_DFL)
                die_with_parent(parent)
                os.dup2(saying, 1)
                # The crew's pipes and the other gateways' are the parent's alone.
                os.closerange(3, os.sysconf("SC_OPEN_MAX"))
                code = run_gateway(self.settings, self.place, self.place.bind(), lambda _: _say_ready())
            except Exception:
                self._log.exception("gateway failed", gateway=child.number)
                raise
            finally:
                sys.stderr.flush()
                os._exit(code)
        os.close(saying)
        os.set_blocking(said, False)
        child.pid, child.said, child.started, child.ready = pid, said, now, False

    def _listen(self, bound: socket.socket) -> None:
        """Hears which gateways take requests; says so, once, when all do."""
        for child in self._children:
            if child.said < 0:
                continue
            try:
                data = os.read(child.said, 64)
            except BlockingIOError:
                continue
            child.ready = child.ready or bool(data)
            os.close(child.said)
            child.said = -1
        if not self._told and all(child.ready for child in self._children):
            self._told = True
            self.ready(self.place.url(bound))

    def _reap(self) -> None:
        for child in self._children:
            if not child.pid:
                continue
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if not pid:
                continue
            code = os.waitstatus_to_exitcode(status)
            forget_process(pid)
            now = time.monotonic()
            child.quick_deaths = 0 if now - child.started > STEADY_S else child.quick_deaths + 1
            child.due = now + RESTART_PAUSES_S[min(child.quick_deaths, len(RESTART_PAUSES_S) - 1)]
            child.pid, child.ready = 0, False
            if child.said >= 0:
                os.close(child.said)
                child.said = -1
            if not self._stopping:
                self._log.warning("gateway died", gateway=child.number, pid=pid, code=code)
                if not self._told and child.quick_deaths >= len(RESTART_PAUSES_S):
                    self._hopeless = True

    def _start_crew(self) -> None:
        if self.workers:
            fork = self._crew is None
            self._crew = Crew(self.settings.address, self.workers, self.settings.durability, fork=fork)
            self._crew.start()

    def _watch_crew(self) -> None:
        if self._crew is None:
            return
        if self._crew_due:
            if time.monotonic() >= self._crew_due:
                self._crew_due = 0.0
                self._start_crew()
            return
        try:
            for event in self._crew.watch():
                if event.what == "died":
                    self._log.warning(
                        "worker died", worker=event.worker, pid=event.pid, signal=event.signal, code=event.code
                    )
            # What happened is in the log; a service that lives for months does not keep it.
            self._crew.events.clear()
        except FabricError as problem:
            self._log.error("workers gave up", code=problem.code, cause=str(problem))
            self._crew.kill()
            self._crew_due = time.monotonic() + CREW_PAUSE_S

    def _stop(self) -> None:
        """All at the same time: requests in flight need no workers, and workers no gateways."""
        deadline = time.monotonic() + STOP_S
        for child in self._children:
            _signal(child.pid, signal.SIGTERM)
        if self._crew is not None:
            self._crew.stop()
        while any(child.pid for child in self._children):
            self._reap()
            if time.monotonic() > deadline:
                for child in self._children:
                    _signal(child.pid, signal.SIGKILL)
            time.sleep(0.01)


def _signal(pid: int, number: signal.Signals) -> None:
    if pid:
        os.kill(pid, number)


def _say_ready() -> None:
    os.write(1, b"ready\n")
    # So that whatever would print does not fill a pipe that nobody reads.
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.close(quiet)
