"""Sends the heartbeats of a process. Called from its main loop, never from a thread, so that a hang stops them.

A process that learns that it is superseded by a newer generation exits here.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from cauce.doctor.heartbeat.schedule import HeartbeatReport, HeartbeatSchedule
from cauce.doctor.launch.service_dir import ProcessEntry, ServiceDir
from cauce.doctor.launch.spawn import reap_spawned, spawn
from cauce.doctor.messaging.udp import UdpEndpoint, client_socket
from cauce.doctor.model.actions import Action, Exit, MonitorExit, Send, StartDoctor
from cauce.doctor.model.messages import Generation, ProcessIdentity
from cauce.doctor.model.names import role_of
from cauce.process.table import is_readable, open_pidfd, own_rss
from cauce.process.telemetry.logs import start_logs
from cauce.worker.events import EXIT_OLD, NO_WORK, Assignment

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

PAUSE_S = 3.0
"""After a gap this long the process may have been stopped: it waits for a reply before it continues."""
ANSWER_S = 0.3
INTRODUCE_S = 0.1
"""Timeout for the first heartbeat to reach all doctors."""
MIN_INTERVAL_S = 0.05
WORK_CHARACTERS = 200


class HeartbeatSender:
    """Heartbeat sender of one process."""

    def __init__(self, service_dir: ServiceDir, entry: ProcessEntry) -> None:
        cluster = service_dir.cluster()
        self._service_dir = service_dir
        who = ProcessIdentity(entry.name, cluster.host, entry.generation, entry.pid, entry.start, entry.restarts)
        self._schedule = HeartbeatSchedule(who, dict(cluster.doctors), cluster.timing)
        self._endpoint = UdpEndpoint(
            cluster.authenticator(), entry.name, entry.generation, client_socket(cluster.doctors.values())
        )
        self._last = time.monotonic()
        self._introduced = False
        self._work_changes, self._made_due_at = 0, 0.0
        self._monitored: tuple[str, Generation, int] | None = None
        # SIGUSR1 writes the stacks of all threads to the log. Doctors send it before they kill a hung process.
        faulthandler.register(signal.SIGUSR1, all_threads=True)

    def due(self, work_changes: int = 0) -> bool:
        """Whether a heartbeat is due. A new value of `work_changes`, a counter of tasks
        started, makes it due earlier: the new task may crash this process."""
        now = time.monotonic()
        if self._schedule.is_due(now) or now - self._last > PAUSE_S:
            self._work_changes = work_changes
            return True
        if work_changes == self._work_changes or now - self._made_due_at < MIN_INTERVAL_S:
            return False
        self._work_changes, self._made_due_at = work_changes, now
        self._schedule.make_due(now)
        return True

    def beat(self, *, progress: int, work: Assignment = NO_WORK, busy: bool = False, ready: bool = True) -> None:
        """Sends a heartbeat and handles replies. May exit the process."""
        now = time.monotonic()
        gap_s, self._last = now - self._last, now
        self._execute(self._schedule.tick(now, HeartbeatReport(ready, busy, progress, _bounded(work), own_rss())))
        if gap_s > PAUSE_S:
            self._endpoint.wait(ANSWER_S)
        first, self._introduced = not self._introduced, True
        envelopes = [*(self._endpoint.introduce(INTRODUCE_S) if first else ()), *self._endpoint.receive()]
        for envelope, _ in envelopes:
            self._execute(self._schedule.receive(envelope.sender, envelope.body))
        self._check_predecessor()
        reap_spawned()

    def close(self) -> None:
        self._endpoint.close()

    def _check_predecessor(self) -> None:
        """Ring mode: reports the exit of the monitored process."""
        if self._monitored is None:
            return
        name, generation, fd = self._monitored
        if is_readable(fd):
            os.close(fd)
            self._monitored = None
            self._execute(self._schedule.exited(name, generation))

    def _execute(self, actions: Iterable[Action]) -> None:
        for action in actions:
            match action:
                case Send(to, message):
                    self._endpoint.send(self._address(to), message)
                case MonitorExit():
                    self._monitor(action)
                case StartDoctor(doctor):
                    self._log().warning("no doctor responds, starting one", doctor=doctor)
                    self._spawn(doctor)
                case Exit(_, why):
                    self._log().info("process exits", why=why)
                    os._exit(EXIT_OLD)

    def _spawn(self, doctor: str) -> None:
        try:
            spawn(self._service_dir, doctor)
        except OSError as problem:
            self._log().warning("cannot start a doctor, will retry", doctor=doctor, cause=problem.strerror)

    def _address(self, name: str) -> str:
        watch = self._schedule.watch
        if watch is not None and watch.successor == name and watch.address:
            return watch.address
        return self._schedule.doctors.get(name, "")

    def _monitor(self, request: MonitorExit) -> None:
        if self._monitored is not None:
            os.close(self._monitored[2])
        fd = open_pidfd(request.pid, request.start)
        self._monitored = (request.name, request.generation, fd) if fd is not None else None
        if fd is None:
            self._execute(self._schedule.exited(request.name, request.generation))

    def _log(self) -> FilteringBoundLogger:
        name = self._schedule.who.name
        return start_logs(role_of(name)).bind(name=name)


def _bounded(work: Assignment) -> Assignment:
    return Assignment(work.owner, work.job, work.task[:WORK_CHARACTERS])
