"""Human-readable exit reasons of processes."""

from __future__ import annotations

import signal

from cauce.doctor.model.messages import Cause
from cauce.worker.events import EXIT_FAILED, EXIT_FULL, EXIT_MEMORY, EXIT_OLD

UNKNOWN = "exit code unknown: its parent process had exited"

_CODES = {
    0: "exited on request",
    EXIT_FAILED: "failed with an error",
    EXIT_FULL: "no space left on the disk",
    EXIT_MEMORY: "its container was killed by the kernel for lack of memory",
    EXIT_OLD: "exited: superseded by a newer generation",
}


def with_work(reason: str, work: str) -> str:
    """One line with the reason of an event and the work that the process held, for readers allowed to see both."""
    return f"{reason}; it held {work}" if reason and work else reason or work


def restarting(in_s: float, why: str) -> str:
    """A delayed restart: when it is due, and the reason for the delay."""
    return f"restarting in {max(in_s, 1):.0f} s: {why}"


def reason_of(cause: Cause) -> str:
    """One line: why a process exited."""
    if cause.why and (cause.code is None or cause.code < 0):
        return cause.why
    if cause.code is None:
        return UNKNOWN
    if cause.code < 0:
        return f"killed by {_signal(-cause.code)}"
    words = _CODES.get(cause.code)
    return f"{words} (exit code {cause.code})" if words else f"exit code {cause.code}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
