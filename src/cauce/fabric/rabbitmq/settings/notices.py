"""Warnings about tolerable broker settings, found when a fabric is opened. Reported once per process, however many
threads open a fabric, and only if a listener is set."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from cauce.fabric.rabbitmq.settings.finding import Finding

Listener = Callable[[Sequence[Finding]], None]

_lock = threading.Lock()
_listener: Listener | None = None


def listen(listener: Listener | None) -> None:
    """Sets the listener of this process. A forked child must set its own."""
    global _listener
    with _lock:
        _listener = listener


def notice(wrong: Sequence[Finding]) -> None:
    """Passes findings to the listener and removes the listener."""
    global _listener
    if not wrong:
        return
    with _lock:
        listener, _listener = _listener, None
    if listener is not None:
        listener(wrong)
