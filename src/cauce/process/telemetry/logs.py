"""The log of a service process on standard error: JSON lines or text. Never logs a token or a body.

The settings belong to the process: its entry point sets them once, before the first line.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cauce.errors import unknown
from cauce.process.output import never_fail_on_output
from cauce.process.telemetry.otlp import is_enabled

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

    from cauce.process.telemetry.log_export import LogExport

FORMATS = ("auto", "text", "json")
EXPORTING = ("gateway", "worker")
"""Roles whose lines OpenTelemetry exports, if it is configured."""
LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True)
class LogSettings:
    format: str = "auto"
    """`auto`: text on a terminal, JSON elsewhere."""
    level: str = "info"
    """The lowest level that is logged."""

    def check(self) -> None:
        if self.format not in FORMATS:
            raise unknown("--log-format", self.format, FORMATS)
        if self.level not in LEVELS:
            raise unknown("--log-level", self.level, LEVELS)

    def is_text(self, *, terminal: bool) -> bool:
        return self.format == "text" or (self.format == "auto" and terminal)


_settings = LogSettings()


def use_logs(settings: LogSettings) -> None:
    """Sets format and level of all lines that this process and its forks log from now on."""
    global _settings
    _settings = settings


def start_logs(role: str) -> FilteringBoundLogger:
    """Configures logging. Every line carries the role and process id. Writing never raises."""
    import structlog

    never_fail_on_output()
    terminal = sys.stderr.isatty()
    text = _settings.is_text(terminal=terminal)
    coloured = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    last: Any = (
        structlog.dev.ConsoleRenderer(colors=coloured, timestamp_key="time")
        if text
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            *([] if text else [structlog.processors.format_exc_info]),
            structlog.processors.UnicodeDecoder(),
            *_exports(role),
            last,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_settings.level),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    log: FilteringBoundLogger = structlog.get_logger().bind(role=role, process=os.getpid())
    return log


_export: LogExport | None = None


def _exports(role: str) -> list[LogExport]:
    """The exporter of this process. Doctors and `serve` have none: its thread would keep them from forking."""
    global _export
    if _export is None and role in EXPORTING and is_enabled("logs"):
        from cauce.process.telemetry.log_export import LogExport

        _export = LogExport(role)
    return [_export] if _export is not None else []


def close_logs() -> None:
    """Exports the last lines, for a second at most."""
    if _export is not None:
        _export.close()


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
