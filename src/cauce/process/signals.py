"""Signal handlers that several commands install for the duration of a block."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Makes SIGTERM raise KeyboardInterrupt, as Ctrl-C does."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def signals_deferred(*numbers: int) -> Iterator[None]:
    """Defers the signals to the end of the block."""
    if threading.current_thread() is not threading.main_thread():
        # Python handles signals in the main thread only.
        yield
        return
    received: list[int] = []
    before: dict[int, Any] = {}
    try:
        for number in numbers:
            before[number] = signal.signal(number, lambda number, _: received.append(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for each in dict.fromkeys(received):
            signal.raise_signal(each)


@contextmanager
def signals_blocked(*numbers: int) -> Iterator[None]:
    """Blocks the signals in this thread. A process that is started meanwhile begins with them blocked."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
