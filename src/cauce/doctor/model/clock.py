"""A clock that excludes time in which its own process was paused or starved, so that it does not time out others."""

from __future__ import annotations


class PauseAwareClock:
    """Monotonic seconds in which the process was scheduled. Each `advance` adds at most `stride_s`."""

    def __init__(self, stride_s: float) -> None:
        self._stride_s = stride_s
        self._last: float | None = None
        self.now = 0.0

    def advance(self, time_s: float) -> float:
        elapsed = 0.0 if self._last is None else max(time_s - self._last, 0.0)
        self._last = time_s
        self.now += min(elapsed, self._stride_s)
        return self.now
