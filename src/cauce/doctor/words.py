"""Ends of processes in words."""

from __future__ import annotations

import signal

from cauce.doctor.messages import Cause
from cauce.worker.events import EXIT_FAILED, EXIT_FULL, EXIT_OLD

UNKNOWN = "cause not known: its parent had died"

_CODES = {
    0: "ended as it was asked to",
    EXIT_FAILED: "ended with an error",
    EXIT_FULL: "found no room on the disk",
    EXIT_OLD: "left: a later incarnation has taken its place",
}


def told(cause: Cause, work: str = "") -> str:
    """In one line: why it ended, and what it held."""
    held = f"; it held {work}" if work else ""
    return f"{_reason(cause)}{held}"


def restarting(in_s: float, why: str) -> str:
    """A delayed restart: when it is due, and the reason for the delay."""
    return f"restarting in {max(in_s, 1):.0f} s: {why}"


def _reason(cause: Cause) -> str:
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
