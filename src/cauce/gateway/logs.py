"""The service's log: a JSON object a line on standard error, or words on a terminal. Never a token, never a body."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import structlog
from structlog.typing import FilteringBoundLogger


def start_logs(role: str) -> FilteringBoundLogger:
    """The log of this process, which says in every line whose it is."""
    terminal = sys.stderr.isatty()
    coloured = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    words = structlog.dev.ConsoleRenderer(colors=coloured)
    last: Any = words if terminal else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            *([] if terminal else [structlog.processors.format_exc_info]),
            structlog.processors.UnicodeDecoder(),
            last,
        ],
        wrapper_class=structlog.make_filtering_bound_logger("info"),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    log: FilteringBoundLogger = structlog.get_logger().bind(role=role, process=os.getpid())
    return log


class Throttle:
    """Lets so many lines a second through and counts the others: a flood of wrong requests is not to fill a disk."""

    def __init__(self, a_second: int) -> None:
        self._a_second = a_second
        self._second = 0
        self._said = 0
        self._unsaid = 0

    def admit(self) -> int | None:
        """None: not this one. Else how many have been left out since the last one."""
        now = int(time.monotonic())
        if now != self._second:
            self._second, self._said = now, 0
        if self._said >= self._a_second:
            self._unsaid += 1
            return None
        self._said += 1
        unsaid, self._unsaid = self._unsaid, 0
        return unsaid
