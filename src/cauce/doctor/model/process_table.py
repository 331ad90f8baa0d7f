"""The process table of a doctor: the known instances of each process, and the history per process name.

An instance has parts, each changed only by its own methods: the last heartbeat, the last observation in /proc, and the
state of its termination. The table decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cauce.doctor.model.messages import Cause, Generation, Heartbeat, ObservedProcess
from cauce.worker.events import NO_WORK, Assignment

FORGET_S = 120.0
"""Retention of instances that exited or went silent: delayed messages may still refer to them."""


@dataclass
class HeartbeatState:
    """Content of the last heartbeat. Times are by the doctor's `PauseAwareClock`, here and in the other parts."""

    seq: int = -1
    at: float | None = None
    """When it arrived; None before the first one."""
    ready: bool = False
    ready_since: float | None = None
    busy: bool = False
    progress: int = 0
    progress_at: float = 0.0
    """When `progress` last changed, or the process was last idle."""
    work: Assignment = NO_WORK
    timeout_reported: bool = False
    """Ring mode: the process that monitors this one reported a heartbeat timeout."""

    def apply(self, heartbeat: Heartbeat, now: float) -> None:
        if heartbeat.progress != self.progress or not heartbeat.busy or self.at is None:
            self.progress_at = now
        self.seq, self.at, self.timeout_reported = heartbeat.seq, now, False
        self.ready, self.busy, self.progress = heartbeat.ready, heartbeat.busy, heartbeat.progress
        self.work = heartbeat.work
        if self.ready and self.ready_since is None:
            self.ready_since = now

    def set_own(self, work: Assignment, now: float) -> None:
        """Applies the status of the doctor itself, which sends no heartbeats to itself."""
        self.ready, self.work = True, work
        self.at = self.progress_at = now

    def report_timeout(self) -> None:
        self.timeout_reported = True

    def ready_s(self, now: float) -> float:
        """For how long it has been ready."""
        return now - self.ready_since if self.ready_since is not None else 0.0


@dataclass
class Observation:
    """The process as the doctors of its host see it in /proc."""

    at: float | None = None
    """When a doctor of its host last saw it; None if none did."""
    rss: int = 0
    cpu_s: float = 0.0
    cpu: float | None = None
    """Recent CPU usage, as a fraction of a core."""
    stopped_since: float | None = None
    """Since when the kernel reports it as stopped by a signal."""

    def apply(self, seen: ObservedProcess, now: float) -> None:
        if self.at is not None and now > self.at and seen.cpu_s >= self.cpu_s > 0:
            self.cpu = round((seen.cpu_s - self.cpu_s) / (now - self.at), 3)
        self.at, self.cpu_s = now, seen.cpu_s
        self.rss = seen.rss or self.rss
        since = self.stopped_since if self.stopped_since is not None else now
        self.stopped_since = since if seen.state in ("T", "t") else None

    def apply_heartbeat(self, rss: int) -> None:
        """A process that sends heartbeats is not stopped, even if the last scan of /proc showed it so."""
        self.rss, self.stopped_since = rss, None


@dataclass
class Termination:
    """The termination of an instance: since when, why, and the last signal sent for it."""

    since: float | None = None
    why: str = ""
    requested: bool = False
    """An operator or a newer generation caused it: its exit is not a crash."""
    signalled_at: float = 0.0
    signal: str = ""
    """The last signal, as in `Signal.how`; empty if none was sent."""

    @property
    def active(self) -> bool:
        return self.since is not None

    def begin(self, now: float, why: str, *, requested: bool) -> None:
        self.since, self.why, self.requested = now, why, requested

    def expect(self, why: str, *, requested: bool) -> None:
        """A leader on another host has requested it: sets the reason that explains the exit."""
        self.why, self.requested = why, requested

    def record_signal(self, signal: str, now: float) -> None:
        self.signal, self.signalled_at = signal, now

    def cancel(self) -> None:
        self.since, self.why, self.requested, self.signal = None, "", False, ""


@dataclass
class Instance:
    """One instance of a process. `name`, `generation` and `started_at` identify it and never change."""

    name: str
    generation: Generation
    host: str
    started_at: float
    pid: int = 0
    start: int = 0
    """Start time as the kernel reports it."""
    restarts: int = 0
    launch_requested_at: float = 0.0
    """When its launch was last requested from another host; 0 for a launch on this host."""
    exited_at: float | None = None
    crashed: bool = False
    """Whether its exit counts as a crash."""
    heartbeat: HeartbeatState = field(default_factory=HeartbeatState)
    observed: Observation = field(default_factory=Observation)
    termination: Termination = field(default_factory=Termination)

    @property
    def alive(self) -> bool:
        return self.exited_at is None

    @property
    def seen(self) -> bool:
        """Whether it has sent a heartbeat, or a doctor of its host has seen it."""
        return self.heartbeat.at is not None or self.observed.at is not None

    @property
    def unconfirmed(self) -> bool:
        """Requested from another host, and not confirmed yet."""
        return bool(self.launch_requested_at) and not self.pid and not self.seen

    def last_heartbeat_at(self) -> float:
        """When its last heartbeat arrived; before the first one, when it was started."""
        return max(self.started_at, self.heartbeat.at or 0.0)

    def receive(self, heartbeat: Heartbeat, now: float) -> None:
        """Applies a heartbeat; ignores one that is not newer than the last."""
        if heartbeat.seq <= self.heartbeat.seq:
            return
        self.heartbeat.apply(heartbeat, now)
        self.observed.apply_heartbeat(heartbeat.rss)
        self.host, self.restarts = heartbeat.host, heartbeat.restarts
        self.set_process(heartbeat.pid or self.pid, heartbeat.start or self.start)

    def observe(self, seen: ObservedProcess, host: str, now: float) -> None:
        """Applies an observation of the process on this host."""
        self.host = host
        self.observed.apply(seen, now)
        self.set_process(seen.pid, seen.start)

    def set_process(self, pid: int, start: int) -> None:
        self.pid, self.start = pid, start

    def request_launch(self, now: float) -> None:
        self.launch_requested_at = now

    def exit(self, now: float) -> None:
        self.exited_at = now

    def mark_crashed(self, *, crashed: bool) -> None:
        self.crashed = crashed

    def mark_alive(self) -> None:
        """Marks it as alive again: it was wrongly recorded as exited."""
        self.exited_at = None
        self.termination.cancel()


@dataclass
class ProcessHistory:
    """History of a process name over all its instances."""

    crashes: int = 0
    """Consecutive crashes, each soon after a start and without work of a job."""
    crashes_at_work: int = 0
    """Consecutive crashes, each soon after a start, of a worker that held work of a job."""
    exited_at: float = 0.0
    restarts: int = 0
    cause: Cause = field(default_factory=Cause)
    why: str = ""
    """Human-readable reason of its last exit."""
    held: Assignment = NO_WORK
    """The work that it held at its last exit."""
    crashed_at: float | None = None
    """When it crashed; None once it is ready again."""
    due: float = 0.0
    """It is not restarted before this time."""

    def retry(self, now: float) -> None:
        """Resets the crash counters and the backoff: the next start is due now."""
        self.crashes, self.crashes_at_work, self.due = 0, 0, now

    def count_restarts(self, restarts: int) -> None:
        """The next instance has at least this restart count."""
        self.restarts = max(self.restarts, restarts)

    def record_exit(self, cause: Cause, why: str, held: Assignment) -> None:
        self.cause, self.why, self.held = cause, why, held

    def schedule_restart(self, now: float, delay_s: float, *, crashed: bool = True) -> None:
        """After an exit of the newest instance."""
        self.exited_at, self.due = now, now + delay_s
        self.crashed_at = now if crashed else None

    def record_lost(self, now: float, due: float) -> None:
        """Its host is unreachable. Another instance is started; the next one not before `due`."""
        self.due = due
        self.crashed_at = self.crashed_at if self.crashed_at is not None else now

    def count_crash(self, *, steady: bool) -> None:
        """Counts a crash. `steady`: the process had been ready for long enough, so the count restarts at one."""
        if self.held.job:
            self.crashes_at_work = 1 if steady else self.crashes_at_work + 1
        else:
            self.crashes = 1 if steady else self.crashes + 1

    def uncount_crash(self) -> None:
        """Uncounts the last exit: it turned out not to be a crash."""
        if self.held.job:
            self.crashes_at_work = max(self.crashes_at_work - 1, 0)
        else:
            self.crashes = max(self.crashes - 1, 0)

    def recovered_after(self, now: float) -> float | None:
        """Clears a crash once the process is ready again. Returns the seconds since the crash, if there was one."""
        since, self.crashed_at = self.crashed_at, None
        return now - since if since is not None else None

    @property
    def in_a_row(self) -> int:
        """Consecutive crashes of the kind of the last one."""
        return self.crashes_at_work if self.held.job else self.crashes

    def reason(self) -> str:
        """Why a restart is delayed. The last cause comes last."""
        return f"it crashed {self.in_a_row} times, last: {self.why}" if self.in_a_row > 1 else self.why


class ProcessTable:
    """All known instances by name and generation, and the history of each name."""

    def __init__(self) -> None:
        self._instances: dict[str, dict[Generation, Instance]] = {}
        self._histories: dict[str, ProcessHistory] = {}

    def history(self, name: str) -> ProcessHistory:
        return self._histories.setdefault(name, ProcessHistory())

    def add(self, instance: Instance) -> Instance:
        self._instances.setdefault(instance.name, {})[instance.generation] = instance
        return instance

    def find(self, name: str, generation: Generation) -> Instance | None:
        return self._instances.get(name, {}).get(generation)

    def newest(self, name: str) -> Instance | None:
        """The newest known instance, alive or not."""
        instances = self._instances.get(name)
        return instances[max(instances)] if instances else None

    def forget_unconfirmed(self, name: str, heard: Generation) -> None:
        """Drops unconfirmed launches of this name, once another instance of it sends heartbeats."""
        instances = self._instances[name]
        for each in [each for each, found in instances.items() if found.unconfirmed and each != heard]:
            del instances[each]

    def alive(self) -> Iterator[Instance]:
        """The newest instance of each name, if it is alive."""
        for name in self._instances:
            instance = self.newest(name)
            if instance is not None and instance.alive:
                yield instance

    def superseded(self) -> Iterator[Instance]:
        """Instances that are alive although a newer one of their name is known."""
        for instances in self._instances.values():
            if len(instances) > 1:
                newest = max(instances)
                yield from (each for generation, each in instances.items() if generation != newest and each.alive)

    def every(self) -> Iterator[Instance]:
        for instances in self._instances.values():
            yield from instances.values()

    def forget(self, now: float) -> None:
        """Drops instances past their retention; the newest of each name stays."""
        for instances in self._instances.values():
            newest = max(instances)
            for each in [each for each, found in instances.items() if each != newest and _is_expired(found, now)]:
                del instances[each]


def _is_expired(instance: Instance, now: float) -> bool:
    last_seen_at = max(instance.last_heartbeat_at(), instance.observed.at or 0.0)
    return now - (instance.exited_at if instance.exited_at is not None else last_seen_at) > FORGET_S
