"""Heartbeat state machine of a process, without I/O or clock: when to send heartbeats, and when to exit.

It must be called only from the main loop of the process, so that a hung loop stops the heartbeats.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cauce.doctor.model.actions import Action, Exit, MonitorExit, Send, StartDoctor
from cauce.doctor.model.clock import PauseAwareClock
from cauce.doctor.model.messages import (
    Ack,
    Cause,
    Epoch,
    ExitReport,
    Generation,
    Heartbeat,
    Message,
    ProcessIdentity,
    RingAssignment,
)
from cauce.doctor.model.names import host_of, order_of
from cauce.doctor.model.timing import Timing
from cauce.worker.events import NO_WORK, Assignment

RANK_S = 0.2
"""Extra delay per process number, so that not all processes start the same doctor at once."""
RING_SLOWER = 4
"""Ring mode: factor by which heartbeats to doctors are rarer. They serve the status, not failure detection."""
RING_SILENCE = 6
"""Missed heartbeats before a process is reported as silent."""
MOST_RANKS = 20


@dataclass(frozen=True)
class HeartbeatReport:
    """The status that a process reports in its heartbeats."""

    ready: bool = True
    busy: bool = False
    progress: int = 0
    work: Assignment = NO_WORK
    rss: int = 0


@dataclass
class HeartbeatSchedule:
    """Heartbeat state of one process."""

    who: ProcessIdentity
    doctors: dict[str, str]
    timing: Timing
    starts_doctors: bool = True
    """Whether it starts a doctor when none responds. False for doctors themselves."""
    epoch: Epoch = field(default_factory=Epoch)
    watch: RingAssignment | None = None
    heard_at: float = 0.0
    """When a doctor of this host last replied."""
    _clock: PauseAwareClock = field(init=False)
    _seq: int = 0
    _due: float = 0.0
    _doctors_due: float = 0.0
    _doctor_started: float = float("-inf")
    _predecessor_heard: float = 0.0
    _exited: bool = False
    """The monitored process has exited: reported until the leader assigns another one."""

    def __post_init__(self) -> None:
        # A step of the main loop may take longer than the heartbeat interval: that is not a pause.
        self._clock = PauseAwareClock(2 * self.timing.beat)

    def is_due(self, time_s: float) -> bool:
        """Whether a heartbeat is due. Cheap enough to call at every step."""
        return time_s >= self._due

    def make_due(self, time_s: float) -> None:
        """Makes the next heartbeat due now."""
        self._due = min(self._due, time_s)

    def tick(self, time_s: float, report: HeartbeatReport) -> list[Action]:
        if time_s < self._due:
            return []
        now = self._clock.advance(time_s)
        self._due = time_s + self.timing.beat
        self._seq += 1
        heartbeat = Heartbeat(
            self.who.host,
            self.who.generation,
            self.who.pid,
            self.who.start,
            self._seq,
            report.ready,
            report.busy,
            report.progress,
            report.work,
            report.rss,
            self.who.restarts,
            self.epoch,
        )
        return [*self._sends(time_s, heartbeat), *self._check_predecessor(now), *self._start_missing_doctor(now)]

    def _sends(self, time_s: float, heartbeat: Heartbeat) -> list[Action]:
        sends: list[Action] = []
        watch = self.watch
        if watch is not None and watch.successor:
            sends.append(Send(watch.successor, heartbeat))
        if watch is None or time_s >= self._doctors_due:
            self._doctors_due = time_s + self.timing.beat * RING_SLOWER
            others = [
                name for name in self.doctors if name != self.who.name and (watch is None or name != watch.successor)
            ]
            sends += [Send(name, heartbeat) for name in others]
        return sends

    def receive(self, sender: str, message: Message) -> list[Action]:
        now = self._clock.now
        match message:
            case Ack():
                return self._acknowledged(sender, message, now)
            case Heartbeat() if self.watch is not None and sender == self.watch.name:
                if message.generation >= self.watch.generation:
                    self._predecessor_heard = now
        return []

    def _acknowledged(self, sender: str, ack: Ack, now: float) -> list[Action]:
        if ack.newest > self.who.generation:
            # It may be the last process on its host: start a doctor there before it exits.
            started = self._start_doctor() if now - self.heard_at > 2 * self.timing.beat else []
            return [*started, Exit(True, f"generation {self.who.generation} is superseded by {ack.newest}")]
        if host_of(sender) == self.who.host or not any(host_of(each) == self.who.host for each in self.doctors):
            self.heard_at = now
        self.doctors = {**self.doctors, **ack.doctors}
        if ack.epoch < self.epoch:
            return []
        self.epoch = ack.epoch
        if sender != ack.epoch.doctor:
            return []
        known, self.watch = self.watch, ack.watch
        if ack.watch is None or _same(known, ack.watch):
            return []
        self._predecessor_heard, self._exited = now, False
        if ack.watch.host != self.who.host or not ack.watch.pid:
            return []
        return [MonitorExit(ack.watch.name, ack.watch.generation, ack.watch.pid, ack.watch.start)]

    def exited(self, name: str, generation: Generation) -> list[Action]:
        """The kernel reported the exit of a process of this host."""
        watch = self.watch
        if watch is None or (name, generation) != (watch.name, watch.generation):
            return []
        self._exited = True
        return self._report(watch)

    def _check_predecessor(self, now: float) -> list[Action]:
        silent = now - self._predecessor_heard > self.timing.beat * RING_SILENCE
        return self._report(self.watch) if self.watch is not None and (silent or self._exited) else []

    def _report(self, watch: RingAssignment) -> list[Action]:
        report = ExitReport(watch.name, watch.generation, Cause(), not self._exited)
        return [Send(each, report) for each in self.doctors if each != self.who.name]

    def _start_missing_doctor(self, now: float) -> list[Action]:
        rank = min(order_of(self.who.name)[1], MOST_RANKS)
        timeout_s = self.timing.orphan + RANK_S * rank
        if now - self.heard_at < timeout_s or now - self._doctor_started < 2 * timeout_s:
            return []
        self._doctor_started = now
        return self._start_doctor()

    def _start_doctor(self) -> list[Action]:
        own = sorted(name for name in self.doctors if host_of(name) == self.who.host)
        return [StartDoctor(own[0])] if own and self.starts_doctors else []


def _same(one: RingAssignment | None, other: RingAssignment) -> bool:
    return one is not None and (one.name, one.generation, one.pid) == (other.name, other.generation, other.pid)
