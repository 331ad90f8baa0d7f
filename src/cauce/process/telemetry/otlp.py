"""OpenTelemetry as its standard variables configure it: which signals are exported, and as what resource.

Nothing of OpenTelemetry is loaded unless a signal is enabled.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from cauce.errors import UsageError

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource

Signal = Literal["traces", "metrics", "logs"]

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
DISABLED = "OTEL_SDK_DISABLED"
SERVICE_NAME = "OTEL_SERVICE_NAME"
EXPORT_FAILED = "telemetry cannot be exported"
"""The event of log lines about the export itself. They are not exported."""


def is_enabled(signal: Signal) -> bool:
    """Whether a variable names an endpoint for the signal, and none disables it."""
    if os.environ.get(DISABLED, "").lower() == "true" or os.environ.get(f"OTEL_{signal.upper()}_EXPORTER") == "none":
        return False
    return bool(os.environ.get(ENDPOINT) or os.environ.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT"))


def resource_of(process: str) -> Resource:
    """`OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` have precedence."""
    from opentelemetry.sdk.resources import Resource

    named: dict[str, str | int] = {} if os.environ.get(SERVICE_NAME) else {"service.name": f"cauce {process}"}
    return Resource.create({**named, "process.pid": os.getpid()})


@contextmanager
def loading(signal: Signal) -> Iterator[None]:
    """Reports packages that are missing, and routes the messages of OpenTelemetry into our log."""
    try:
        yield
    except ImportError as problem:
        missing = f"{problem.name} is not installed: pip install 'cauce[traces]', or unset it"
        raise UsageError(f"{ENDPOINT} enables {signal}, but {missing}") from None
    logger = logging.getLogger("opentelemetry")
    if not logger.handlers:
        logger.propagate = False
        logger.addHandler(_Forwarding(logging.WARNING))


class _Forwarding(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        from cauce.process.telemetry.logs import start_logs

        start_logs("telemetry").warning(EXPORT_FAILED, cause=record.getMessage())
