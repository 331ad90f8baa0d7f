"""Runs steps that can be suspended, so that a long step of one owner does not delay the tasks of others.

Only one thread runs at any time, either the worker's loop or one step, so their shared state needs no lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from cauce.scan.memory import large_buffer


class Stepper:
    """A thread that runs one step after the other. The caller waits until the step returns or suspends itself."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._step: Callable[[], bool] | None = None
        # Each is released by one thread and acquired by the other, in turn. Locks, since semaphores take ten times as
        # long, and a worker with many waiting tasks runs thousands of short steps a second.
        self._resumed = _acquired_lock()
        self._returned = _acquired_lock()
        self._outcome = False
        self._problem: BaseException | None = None
        self._buffer: npt.NDArray[np.uint8] = np.empty(0, np.uint8)

    @property
    def suspended(self) -> bool:
        """For the caller of `run` and `resume`: whether the step has not returned yet."""
        return self._step is not None

    @property
    def is_current_thread(self) -> bool:
        return self._thread is threading.current_thread()

    def run(self, step: Callable[[], bool]) -> bool:
        """Returns the outcome of the step or raises its exception. True if it is suspended: it had work to do."""
        assert self._step is None
        self._step = step
        if self._thread is None:
            # A daemon thread, so that the process can exit while a step is suspended.
            self._thread = threading.Thread(target=self._run_steps, name="cauce-step", daemon=True)
            self._thread.start()
        return self.resume()

    def resume(self) -> bool:
        """Continues a suspended step. Returns or raises like `run`."""
        self._resumed.release()
        self._returned.acquire()
        if self.suspended:
            return True
        problem, self._problem = self._problem, None
        if problem is not None:
            raise problem
        return self._outcome

    def suspend(self) -> None:
        """Called from within the step, in its own thread: passes control to the caller until it resumes the step."""
        assert self.is_current_thread
        self._returned.release()
        self._resumed.acquire()

    def close(self) -> None:
        """Ends the thread. No step may be running or suspended."""
        assert self._step is None
        if self._thread is not None:
            self._resumed.release()
            self._thread.join()
            self._thread = None

    def buffer(self, size: int) -> npt.NDArray[np.uint8]:
        """Memory of at least this size for the current step. The next step reuses it."""
        if self._buffer.size < size:
            self._buffer = large_buffer(size + size // 8)
        return self._buffer

    def _run_steps(self) -> None:
        while True:
            self._resumed.acquire()
            if self._step is None:
                return
            try:
                self._outcome = self._step()
            except BaseException as problem:  # noqa: BLE001  (raised again in the caller's thread)
                self._problem = problem
            self._step = None
            self._returned.release()


def _acquired_lock() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock
