"""Progress within a long step: long-running code calls `tick`, so that the process can send a heartbeat or run other
tasks.

Any layer may call `tick`; without a listener it does nothing."""

from __future__ import annotations

from collections.abc import Callable

_listener: Callable[[], None] | None = None


def listen(listener: Callable[[], None] | None) -> None:
    """Sets the function that each tick of this process calls; None removes it."""
    global _listener
    _listener = listener


def tick() -> None:
    """Called between slices of work, from the thread that does the work. Cheap enough for each slice of a
    millisecond; the listener may send a heartbeat, run other tasks, or end the process."""
    if _listener is not None:
        _listener()
