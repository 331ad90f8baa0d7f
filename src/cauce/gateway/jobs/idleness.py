"""Decides whether a job has been idle long enough to expire. A wall clock that is set forward must never expire a job:
the time must also have passed on this gateway's monotonic clock. No clock step delays an expiry by more than the idle
limit of the job."""

from __future__ import annotations

import time
from collections.abc import Callable, Container
from dataclasses import dataclass

STEP_ACCEPTED_S = 86_400.0
"""A wall clock that stays ahead for this long is accepted."""


@dataclass(frozen=True)
class Expiry:
    """When a job expires by the wall clock, and its idle limit. A gateway must see it idle for at least `least_s`.
    `activity` changes with each action of the client; `expires` may not, after the wall clock was set back."""

    expires: float
    limit_s: float
    least_s: float
    activity: object = None


@dataclass(frozen=True)
class _Observed:
    expiry: Expiry
    since: float
    """By the monotonic clock."""
    wait_s: float
    """The time that was left then."""


class Idleness:
    """Shared by all threads of a gateway. Not durable: a restarted gateway observes from the start, which delays an
    expiry by at most `least_s`."""

    def __init__(self, clock: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._monotonic = monotonic
        self._offset_s = clock() - monotonic()
        self._ahead_since: float | None = None
        self._observed: dict[str, _Observed] = {}

    def now(self) -> float:
        """The wall clock time, or the start time plus the monotonic time since, if that is earlier. A wall clock that
        stays ahead is accepted after a day."""
        wall, moment = self._clock(), self._monotonic()
        if wall <= self._offset_s + moment:
            self._ahead_since = None
            return wall
        since = self._ahead_since = moment if self._ahead_since is None else self._ahead_since
        if moment - since >= STEP_ACCEPTED_S:
            self._offset_s, self._ahead_since = wall - moment, None
        return self._offset_s + moment

    def is_overdue(self, name: str, expiry: Expiry) -> bool:
        """Whether the job has expired by both clocks. Once the monotonic clock has counted the remaining time plus the
        limit, a wall clock that was set back is ignored."""
        moment = self._monotonic()
        observed = self._observed.get(name)
        if observed is None or observed.expiry != expiry:
            left_s = min(max(expiry.expires - self._clock(), expiry.least_s), expiry.limit_s)
            observed = self._observed[name] = _Observed(expiry, moment, left_s)
        beyond_s = moment - observed.since - observed.wait_s
        return beyond_s >= 0 and (self._clock() >= expiry.expires or beyond_s >= expiry.limit_s)

    def keep_only(self, names: Container[str]) -> None:
        for name in [each for each in list(self._observed) if each not in names]:
            self._observed.pop(name, None)
