"""The service's log on standard error: JSON lines, or plain text on a terminal. Never logs a token or a body."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import structlog
from structlog.typing import FilteringBoundLogger

from cauce.process.output import never_fail_on_output


def start_logs(role: str) -> FilteringBoundLogger:
    """Configures logging. Every line carries the role and process id. Writing never raises."""
    never_fail_on_output()
    terminal = sys.stderr.isatty()
    coloured = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    plain = structlog.dev.ConsoleRenderer(colors=coloured)
    last: Any = plain if terminal else structlog.processors.JSONRenderer()
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
    """Admits `a_second` lines per second and counts the rest, so that a flood of bad requests cannot fill the disk."""

    def __init__(self, a_second: int) -> None:
        self._a_second = a_second
        self._second = 0
        self._admitted = 0
        self._dropped = 0

    def admit(self) -> int | None:
        """None: drop this line. Otherwise the number of lines dropped since the last admitted one."""
        now = int(time.monotonic())
        if now != self._second:
            self._second, self._admitted = now, 0
        if self._admitted >= self._a_second:
            self._dropped += 1
            return None
        self._admitted += 1
        dropped, self._dropped = self._dropped, 0
        return dropped
