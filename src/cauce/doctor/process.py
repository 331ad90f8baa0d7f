"""The doctor process: one thread that waits for datagrams, process exits, its fabric I/O process and timers.

It executes the actions of its core. It must never block elsewhere or compute, so that it stays responsive and can fork.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from setproctitle import setproctitle
from structlog.typing import FilteringBoundLogger

from cauce.doctor.fabric_io import FabricIoMessage, FabricIoProcess
from cauce.doctor.heartbeat.schedule import HeartbeatReport
from cauce.doctor.launch.service_dir import ProcessEntry, ServiceDir, seen_of
from cauce.doctor.launch.spawn import MainFunction, start
from cauce.doctor.messaging.envelope import Envelope
from cauce.doctor.messaging.udp import UdpEndpoint
from cauce.doctor.model.actions import (
    Action,
    Exit,
    MonitorExit,
    RecordDesired,
    RecordEvent,
    Send,
    Signal,
    StartDoctor,
    StartProcess,
)
from cauce.doctor.model.desired_state import DesiredUpdate
from cauce.doctor.model.exit_reasons import with_work
from cauce.doctor.model.messages import Cause, Epoch, ExitReport, Generation, Message, ObservedProcess, ProcessIdentity
from cauce.doctor.model.names import Role, role_of
from cauce.doctor.model.status import StatusQuery
from cauce.doctor.supervision.core import Core
from cauce.doctor.supervision.events import Event
from cauce.doctor.supervision.status_builder import status_of
from cauce.process.limits import raise_file_limit
from cauce.process.oom import restore_oom_score
from cauce.process.table import is_readable, is_running, open_pidfd, own_rss, reap, send_signal, shown
from cauce.worker.events import EXIT_OLD, EXIT_TWIN, Assignment

SCAN_S = 0.5
REGISTRY_S = 5.0
ROTATE_S = 10.0
EPOCH_BACKOFF_S = 1.0
"""Backoff after a failed write of the epoch."""
SIGNALS = {"term": signal.SIGTERM, "kill": signal.SIGKILL, "stack": signal.SIGUSR1}

ExitHook = Callable[[Role, int], None]
"""Called after the exit of a process of this host, with its role and pid."""


@dataclass
class _Monitored:
    name: str
    generation: Generation
    pid: int


@dataclass
class Doctor:
    """Event loop of a doctor. Returns from `run` with the exit code."""

    service_dir: ServiceDir
    entry: ProcessEntry
    main_functions: Mapping[Role, MainFunction]
    socket: socket.socket
    log: FilteringBoundLogger
    on_exit: ExitHook
    _selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    _monitored: dict[int, _Monitored] = field(default_factory=dict)
    _exit_code: int | None = None
    _event_count: int = 0
    _epoch: Epoch = field(default_factory=Epoch)
    _epoch_due: float = 0.0
    _tick_due: float = 0.0
    _scan_due: float = 0.0
    _rotate_due: float = 0.0
    _registry_due: float = 0.0

    def run(self) -> int:
        setproctitle(f"cauce doctor {self.entry.name.removeprefix('doctor-')}")
        # It needs a pidfd for each process of the host.
        raise_file_limit()
        restore_oom_score()
        cluster = self.service_dir.cluster()
        self._woken = self._catch_signals()
        self._fabric_io = FabricIoProcess(self.entry.name, cluster.fabric, cluster.durability)
        self._endpoint = UdpEndpoint(cluster.authenticator(), self.entry.name, self.entry.generation, self.socket)
        self._timing, self._stop_with = cluster.timing, cluster.stop_with
        entry = self.entry
        who = ProcessIdentity(entry.name, cluster.host, entry.generation, entry.pid, entry.start, entry.restarts)
        self._core = Core(who, cluster.timing, time.monotonic(), cluster.doctors, self.service_dir.epoch())
        for source in (self.socket, self._fabric_io.socket, self._woken):
            self._selector.register(source, selectors.EVENT_READ)
        self.log.info("doctor started", name=entry.name, generation=str(entry.generation))
        self._execute(self._core.start(time.monotonic(), self.service_dir.running_processes()))
        while self._exit_code is None:
            self._run_once()
        self._fabric_io.end()
        self.log.info("doctor stopped", name=entry.name)
        return self._exit_code

    def _catch_signals(self) -> int:
        woken, wake = os.pipe()
        for end in (woken, wake):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        # Ctrl-C reaches only a doctor started in a terminal: the others run in their own sessions.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stop(0))
        return woken

    def _stop(self, code: int) -> None:
        self._exit_code = code

    def _run_once(self) -> None:
        """Handles received messages before timers: after a pause, a doctor must learn of a new leader first."""
        ready = self._selector.select(max(self._tick_due - time.monotonic(), 0.0))
        ended = [key.fd for key, _ in ready if key.fd in self._monitored]
        for envelope, address in self._endpoint.receive():
            self._read(envelope, address)
        for fd in ended:
            # Checked again: a handler above may have closed this descriptor and its number may be reused.
            if fd in self._monitored and is_readable(fd):
                self._handle_exit(fd)
        self._read_fabric_io()
        now = time.monotonic()
        if now >= self._tick_due:
            self._tick_due = now + self._timing.tick
            self._tick(now)

    def _read(self, envelope: Envelope, address: str) -> None:
        match envelope.body:
            case StatusQuery():
                self._endpoint.send(address, status_of(self._core, envelope.body))
            case DesiredUpdate(entries):
                self._execute(self._core.desired_changed(time.monotonic(), entries))
            case Message() if envelope.sender:
                if isinstance(envelope.body, ExitReport):
                    self._check_exit(envelope.body)
                self._execute(
                    self._core.receive(time.monotonic(), envelope.sender, envelope.generation, address, envelope.body)
                )

    def _check_exit(self, report: ExitReport) -> None:
        """Another doctor reported an exit first. If it is our child, only we can read its exit code."""
        for fd, monitored in list(self._monitored.items()):
            same = (monitored.name, monitored.generation) == (report.name, report.generation)
            if same and is_readable(fd):
                self._handle_exit(fd)

    def _read_fabric_io(self) -> None:
        while (message := self._fabric_io.receive()) is not None:
            self._execute(self._core.desired_changed(time.monotonic(), message.desired))

    def _tick(self, now: float) -> None:
        # Empties the wakeup pipe: the handlers have already run.
        self._drain_signals()
        if now >= self._scan_due:
            self._scan_due = now + SCAN_S
            self._scan(now)
        if now >= self._rotate_due:
            self._rotate_due = now + ROTATE_S
            for instance in self._core.own_instances():
                self.service_dir.rotate_log(instance.name)
        self._execute(
            self._core.tick(
                now, HeartbeatReport(progress=self._event_count, work=Assignment(task=self._duty()), rss=own_rss())
            )
        )
        self._persist_epoch(now)

    def _persist_epoch(self, now: float) -> None:
        """Persists the highest epoch; retries on errors. A lost epoch only slows down the election after a restart."""
        highest = self._core.bully.highest
        if highest <= self._epoch or now < self._epoch_due:
            return
        try:
            self.service_dir.write_epoch(highest)
            self._epoch = highest
        except OSError as problem:
            self._epoch_due = now + EPOCH_BACKOFF_S
            self.log.warning("cannot write epoch", epoch=highest.number, cause=problem.strerror)

    def _duty(self) -> str:
        bully = self._core.bully
        if bully.leads:
            return f"leads epoch {bully.epoch}"
        return f"follows {bully.leader}" if bully.leader else "electing"

    def _drain_signals(self) -> None:
        try:
            os.read(self._woken, 4096)
        except BlockingIOError:
            return

    def _scan(self, now: float) -> None:
        old = self._fabric_io.socket
        if self._fabric_io.restart_if_exited():
            self._selector.unregister(old)
            self._selector.register(self._fabric_io.socket, selectors.EVENT_READ)
        self._execute(
            self._core.processes_observed(now, self._observed() if now < self._registry_due else self._registered(now))
        )

    def _observed(self) -> list[ObservedProcess]:
        """Processes of this host in the process table, as /proc shows them."""
        seen: list[ObservedProcess] = []
        for instance in self._core.own_instances():
            found = shown(instance.pid) if instance.pid else None
            if found is not None and found.start == instance.start:
                seen.append(seen_of(instance.name, instance.generation, instance.pid, found))
        return seen

    def _registered(self, now: float) -> list[ObservedProcess]:
        """The same with processes registered in the service directory, which may be unknown to this doctor."""
        self._registry_due = now + REGISTRY_S
        if reason := self._stop_reason():
            self._execute(self._core.stop(now, reason))
        known = {(each.name, each.generation): each for each in self.service_dir.running_processes()}
        return list({**known, **{(each.name, each.generation): each for each in self._observed()}}.values())

    def _stop_reason(self) -> str:
        """Why the service must stop on this host; empty if it must not."""
        pid, started = self._stop_with
        if pid and not is_running(pid, started):
            return "the process given by --end-with has exited"
        return "" if self.service_dir.run.is_dir() else f"the service directory {self.service_dir.folder} was removed"

    def _handle_exit(self, fd: int) -> None:
        monitored = self._monitored.pop(fd)
        self._selector.unregister(fd)
        os.close(fd)
        self._report_exit(monitored)

    def _report_exit(self, monitored: _Monitored) -> None:
        name, generation = monitored.name, monitored.generation
        code = reap(monitored.pid)
        if code == EXIT_TWIN:
            self._core.duplicate_exited(name, generation, monitored.pid)
            return
        cause = Cause(code, "", self.service_dir.last_lines(name)) if code is not None else None
        self.service_dir.unregister(name, generation)
        with suppress(OSError):
            self.on_exit(role_of(name), monitored.pid)
        self._execute(self._core.exited(time.monotonic(), name, generation, cause))

    def _execute(self, actions: Iterable[Action]) -> None:
        for action in actions:
            match action:
                case Send(to, message, address):
                    self._endpoint.send(address or self._core.connectivity.addresses.get(to, ""), message)
                case StartProcess():
                    self._start(action)
                case Signal():
                    self._signal(action)
                case MonitorExit():
                    self._monitor(action)
                case RecordEvent():
                    self._record(action)
                case RecordDesired(entry):
                    self._fabric_io.send(FabricIoMessage([entry]))
                case Exit(old, why):
                    self.log.info("doctor stopping", name=self.entry.name, why=why)
                    self._stop(EXIT_OLD if old else 0)
                case StartDoctor():
                    pass

    def _start(self, request: StartProcess) -> None:
        try:
            made = start(self.service_dir, self.main_functions, request.name, request.generation, request.restarts)
        except OSError as problem:
            why = f"cannot start it: {problem.strerror}"
            self._execute(self._core.exited(time.monotonic(), request.name, request.generation, Cause(None, why)))
            return
        self._execute(self._core.process_started(request.name, request.generation, made.pid, made.start))

    def _signal(self, request: Signal) -> None:
        instance = self._core.processes.find(request.name, request.generation)
        if instance is None or not instance.pid:
            return
        if not send_signal(instance.pid, instance.start, SIGNALS[request.how]):
            self._report_exit(_Monitored(request.name, request.generation, instance.pid))

    def _monitor(self, request: MonitorExit) -> None:
        monitored = _Monitored(request.name, request.generation, request.pid)
        if monitored in self._monitored.values():
            return
        try:
            fd = open_pidfd(request.pid, request.start)
        except OSError:
            # No file descriptor left. The next scan of the host's processes detects its exit.
            return
        if fd is None:
            self._report_exit(monitored)
            return
        self._monitored[fd] = monitored
        self._selector.register(fd, selectors.EVENT_READ)

    def _record(self, request: RecordEvent) -> None:
        self._event_count += 1
        ago_s = 0.0 if request.at is None else self._core.now - request.at
        event = Event(
            time.time() - ago_s,
            request.what,
            request.name,
            self._core.bully.epoch.number,
            self._event_count,
            self.entry.name,
            str(request.generation or ""),
            request.reason,
            request.held.owner,
            request.held.job,
            request.held.task,
            request.last,
            None if request.after_s is None else round(request.after_s, 4),
            request.code,
        )
        self._fabric_io.send(FabricIoMessage([], [event]))
        write = self.log.warning if request.what in ("crashed", "hung", "paused", "lost") else self.log.info
        what = "launched" if request.what == "started" else request.what
        more = {} if request.after_s is None else {"after_s": event.after_s}
        why = with_work(request.reason, str(request.held))
        write(f"{role_of(request.name)} {what}", name=request.name, why=why, epoch=event.epoch, **more)
