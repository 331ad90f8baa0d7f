"""Exports the log lines of a process with OpenTelemetry. A processor of structlog, before lines are rendered."""

from __future__ import annotations

import time
from collections.abc import MutableMapping
from typing import Any

from cauce.process.telemetry.otlp import EXPORT_FAILED, loading, resource_of

_FLUSH_MS = 1000
_SEVERITIES = {"debug": "DEBUG", "info": "INFO", "warning": "WARN", "error": "ERROR", "critical": "FATAL"}


class LogExport:
    """Exports in a thread of its own: for processes that never fork."""

    def __init__(self, process: str) -> None:
        with loading("logs"):
            from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
            from opentelemetry.sdk._logs import LoggerProvider
            from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

            self._provider = LoggerProvider(resource_of(process), shutdown_on_exit=False)
            self._provider.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
            self._logger = self._provider.get_logger("cauce")

    def __call__(self, logger: object, method: str, fields: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        if fields.get("event") != EXPORT_FAILED:
            self._emit(fields)
        return fields

    def _emit(self, fields: MutableMapping[str, Any]) -> None:
        from opentelemetry._logs import LogRecord, SeverityNumber

        severity = _SEVERITIES[fields["level"]]
        attributes = {
            f"cauce.{name}": value if isinstance(value, bool | int | float | str) else str(value)
            for name, value in fields.items()
            if name not in ("event", "level", "time", "exc_info", "exception")
        }
        if fields.get("exception"):
            attributes["exception.stacktrace"] = str(fields["exception"])
        self._logger.emit(
            LogRecord(
                timestamp=time.time_ns(),
                severity_text=severity,
                severity_number=SeverityNumber[severity],
                body=str(fields["event"]),
                attributes=attributes,
            )
        )

    def close(self) -> None:
        self._provider.force_flush(_FLUSH_MS)
        self._provider.shutdown()
