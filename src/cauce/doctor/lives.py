"""What a doctor knows of processes: each of their lives, and what outlasts these. Plain facts; judging is elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cauce.doctor.messages import Beat, Cause, Incarnation, Seen

FORGET_S = 120.0
"""For how long a life that ended, or that nobody has heard of, is remembered: late messages may still tell of it."""


@dataclass
class Life:
    """One incarnation. Times are those of its doctor's attentive clock."""

    name: str
    incarnation: Incarnation
    host: str
    began: float
    pid: int = 0
    start: int = 0
    seq: int = -1
    heard: float | None = None
    vouched: float | None = None
    """When a doctor of its host last said that it lives."""
    ready: bool = False
    ready_since: float | None = None
    busy: bool = False
    progress: int = 0
    progressed: float = 0.0
    work: str = ""
    rss: int = 0
    cpu_s: float = 0.0
    cpu: float | None = None
    """The share of a core that it took of late."""
    restarts: int = 0
    suspected: bool = False
    """Who looks after it in a ring has not heard it for too long."""
    stopped: float | None = None
    """Since when the kernel shows it as stopped."""
    asked: float = 0.0
    """When its launch was last asked of another host."""
    ending: float | None = None
    """Since when it is being ended, the reason, and when and how it was last signalled."""
    why: str = ""
    wanted_end: bool = False
    signalled: float = 0.0
    how: str = ""
    ended: float | None = None
    crashed: bool = False
    """Whether its end counts as a crash."""

    @property
    def alive(self) -> bool:
        return self.ended is None

    @property
    def unborn(self) -> bool:
        """Asked of another host, and nothing was heard of it since."""
        return bool(self.asked) and not self.pid and self.heard is None and self.vouched is None

    def rise(self) -> None:
        """It was believed to be dead, and is not."""
        self.ended = self.ending = None
        self.how = self.why = ""
        self.wanted_end = False

    def last_sign(self) -> float:
        return max(self.began, self.heard or 0.0)

    def take(self, beat: Beat, now: float) -> None:
        if beat.seq <= self.seq:
            return
        if beat.progress != self.progress or not beat.busy or self.heard is None:
            self.progressed = now
        self.seq, self.heard, self.host, self.suspected = beat.seq, now, beat.host, False
        # Who speaks is not stopped, whatever the last look has shown.
        self.stopped = None
        self.ready, self.busy, self.progress, self.work = beat.ready, beat.busy, beat.progress, beat.work
        self.rss, self.restarts = beat.rss, beat.restarts
        if self.ready and self.ready_since is None:
            self.ready_since = now
        self.pid, self.start = beat.pid or self.pid, beat.start or self.start

    def ready_s(self, now: float) -> float:
        """For how long it has been ready."""
        return now - self.ready_since if self.ready_since is not None else 0.0

    def look(self, seen: Seen, now: float) -> None:
        """What the kernel shows of it."""
        if self.vouched is not None and now > self.vouched and seen.cpu_s >= self.cpu_s > 0:
            self.cpu = round((seen.cpu_s - self.cpu_s) / (now - self.vouched), 3)
        self.vouched, self.cpu_s = now, seen.cpu_s
        self.rss = seen.rss or self.rss
        self.pid, self.start = seen.pid, seen.start
        stopped = seen.state in ("T", "t")
        self.stopped = (self.stopped if self.stopped is not None else now) if stopped else None


@dataclass
class Past:
    """What is kept of a name over all its lives."""

    crashes: int = 0
    """Consecutive crashes, each soon after a start."""
    restarts: int = 0
    cause: Cause = field(default_factory=Cause)
    why: str = ""
    died: float | None = None
    """When it died, until it is back."""
    due: float = 0.0
    """Before this time it is not started again."""

    def retry(self, now: float) -> None:
        """Forget the crashes: the next start is due at once."""
        self.crashes, self.due = 0, now

    def reason(self) -> str:
        """Why a restart is delayed. The last cause comes last."""
        return f"it crashed {self.crashes} times, last: {self.why}" if self.crashes > 1 else self.why


class Roster:
    def __init__(self) -> None:
        self._lives: dict[str, dict[Incarnation, Life]] = {}
        self._pasts: dict[str, Past] = {}

    def past(self, name: str) -> Past:
        return self._pasts.setdefault(name, Past())

    def add(self, life: Life) -> Life:
        self._lives.setdefault(life.name, {})[life.incarnation] = life
        return life

    def find(self, name: str, incarnation: Incarnation) -> Life | None:
        return self._lives.get(name, {}).get(incarnation)

    def newest(self, name: str) -> Life | None:
        """The latest incarnation that was heard of, dead or alive."""
        lives = self._lives.get(name)
        return lives[max(lives)] if lives else None

    def forget_unborn(self, name: str, heard: Incarnation) -> None:
        """Somebody has come to life under this name: others that were only asked for are not waited for any more."""
        lives = self._lives[name]
        for each in [each for each, life in lives.items() if life.unborn and each != heard]:
            del lives[each]

    def alive(self) -> Iterator[Life]:
        """One for each name: the newest, if it lives."""
        for name in self._lives:
            life = self.newest(name)
            if life is not None and life.alive:
                yield life

    def old(self) -> Iterator[Life]:
        """Those that live though a later incarnation is known."""
        for lives in self._lives.values():
            if len(lives) > 1:
                latest = max(lives)
                yield from (life for each, life in lives.items() if each != latest and life.alive)

    def every(self) -> Iterator[Life]:
        for lives in self._lives.values():
            yield from lives.values()

    def forget(self, now: float) -> None:
        """Lives of which nothing is to be expected any more; of a name, the newest stays."""
        for lives in self._lives.values():
            latest = max(lives)
            for each in [each for each, life in lives.items() if each != latest and _is_over(life, now)]:
                del lives[each]


def _is_over(life: Life, now: float) -> bool:
    since = life.ended if life.ended is not None else max(life.last_sign(), life.vouched or 0.0)
    return now - since > FORGET_S
