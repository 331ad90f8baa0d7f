"""The side of heartbeats that every process has, without I/O or clock: when to say what, and when to leave.

It is asked from the loop that does the work and from nowhere else, so that a loop that hangs falls silent.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cauce.doctor.acts import Act, Follow, Leave, Rouse, Send
from cauce.doctor.clock import AttentiveClock
from cauce.doctor.messages import Ack, Beat, Cause, Died, Epoch, Incarnation, Message, Watch
from cauce.doctor.names import host_of, order_of
from cauce.doctor.timing import Timing

RANK_S = 0.2
"""So much later for each higher number, so that not everybody starts the same doctor at once."""
RING_SLOWER = 4
"""In a ring, beats to the doctors are so many times rarer: they are for showing, not for watching."""
RING_SILENCE = 6
"""So many beats may be missing before a process of another host is reported as silent."""
MOST_RANKS = 20


@dataclass(frozen=True)
class Facts:
    """What a process says of itself."""

    ready: bool = True
    busy: bool = False
    progress: int = 0
    work: str = ""
    rss: int = 0


@dataclass
class Patient:
    name: str
    host: str
    incarnation: Incarnation
    pid: int
    start: int
    restarts: int
    doctors: dict[str, str]
    timing: Timing
    rouses: bool = True
    """Whether it starts a doctor where none is heard; doctors have others for that."""
    epoch: Epoch = field(default_factory=Epoch)
    watch: Watch | None = None
    heard: float = 0.0
    """When a doctor of this host last answered."""
    _clock: AttentiveClock = field(init=False)
    _seq: int = 0
    _due: float = 0.0
    _doctors_due: float = 0.0
    _roused: float = float("-inf")
    _predecessor_heard: float = 0.0
    _ended: bool = False
    """Whom we look after has ended: that is said until the leader gives us another to look after."""

    def __post_init__(self) -> None:
        # A step of the work may take longer than a beat: that much is no pause.
        self._clock = AttentiveClock(2 * self.timing.beat)

    def is_due(self, time_s: float) -> bool:
        """Whether it is time for a beat: cheap enough to be asked at every step."""
        return time_s >= self._due

    def hurry(self, time_s: float) -> None:
        """The next beat is due now."""
        self._due = min(self._due, time_s)

    def tick(self, time_s: float, facts: Facts) -> list[Act]:
        if time_s < self._due:
            return []
        now = self._clock.advance(time_s)
        self._due = time_s + self.timing.beat
        self._seq += 1
        beat = Beat(
            self.host,
            self.incarnation,
            self.pid,
            self.start,
            self._seq,
            facts.ready,
            facts.busy,
            facts.progress,
            facts.work,
            facts.rss,
            self.restarts,
            self.epoch,
        )
        return [*self._beats(time_s, beat), *self._look_after(now), *self._rouse(now)]

    def _beats(self, time_s: float, beat: Beat) -> list[Act]:
        sends: list[Act] = []
        watch = self.watch
        if watch is not None and watch.successor:
            sends.append(Send(watch.successor, beat))
        if watch is None or time_s >= self._doctors_due:
            self._doctors_due = time_s + self.timing.beat * RING_SLOWER
            others = [name for name in self.doctors if name != self.name and (watch is None or name != watch.successor)]
            sends += [Send(name, beat) for name in others]
        return sends

    def hear(self, sender: str, message: Message) -> list[Act]:
        now = self._clock.now
        match message:
            case Ack():
                return self._answered(sender, message, now)
            case Beat() if self.watch is not None and sender == self.watch.name:
                if message.incarnation >= self.watch.incarnation:
                    self._predecessor_heard = now
        return []

    def _answered(self, sender: str, ack: Ack, now: float) -> list[Act]:
        if ack.newest > self.incarnation:
            # Perhaps the last one on its host: then not without leaving it a doctor.
            roused = self._start_doctor() if now - self.heard > 2 * self.timing.beat else []
            return [*roused, Leave(True, f"incarnation {ack.newest} has taken the place of {self.incarnation}")]
        if host_of(sender) == self.host or not any(host_of(each) == self.host for each in self.doctors):
            self.heard = now
        self.doctors = {**self.doctors, **ack.doctors}
        if ack.epoch < self.epoch:
            return []
        self.epoch = ack.epoch
        if sender != ack.epoch.doctor:
            return []
        known, self.watch = self.watch, ack.watch
        if ack.watch is None or _same(known, ack.watch):
            return []
        self._predecessor_heard, self._ended = now, False
        if ack.watch.host != self.host or not ack.watch.pid:
            return []
        return [Follow(ack.watch.name, ack.watch.incarnation, ack.watch.pid, ack.watch.start)]

    def ended(self, name: str, incarnation: Incarnation) -> list[Act]:
        """The kernel says that a process of this host has ended."""
        watch = self.watch
        if watch is None or (name, incarnation) != (watch.name, watch.incarnation):
            return []
        self._ended = True
        return self._report(watch)

    def _look_after(self, now: float) -> list[Act]:
        silent = now - self._predecessor_heard > self.timing.beat * RING_SILENCE
        return self._report(self.watch) if self.watch is not None and (silent or self._ended) else []

    def _report(self, watch: Watch) -> list[Act]:
        died = Died(watch.name, watch.incarnation, Cause(), not self._ended)
        return [Send(each, died) for each in self.doctors if each != self.name]

    def _rouse(self, now: float) -> list[Act]:
        rank = min(order_of(self.name)[1], MOST_RANKS)
        patience = self.timing.orphan + RANK_S * rank
        if now - self.heard < patience or now - self._roused < 2 * patience:
            return []
        self._roused = now
        return self._start_doctor()

    def _start_doctor(self) -> list[Act]:
        own = sorted(name for name in self.doctors if host_of(name) == self.host)
        return [Rouse(own[0])] if own and self.rouses else []


def _same(one: Watch | None, other: Watch) -> bool:
    return one is not None and (one.name, one.incarnation, one.pid) == (other.name, other.incarnation, other.pid)
