"""A clock that stands still while its owner does: who was paused or starved must not blame the others' silence."""

from __future__ import annotations


class AttentiveClock:
    """Counts seconds in which its owner was there to listen."""

    def __init__(self, stride_s: float) -> None:
        self._stride_s = stride_s
        self._last: float | None = None
        self.now = 0.0
        self.missed = 0.0
        """How much was left out at the last look."""

    def advance(self, time_s: float) -> float:
        gone = 0.0 if self._last is None else max(time_s - self._last, 0.0)
        self._last = time_s
        counted = min(gone, self._stride_s)
        self.now += counted
        self.missed = gone - counted
        return self.now
