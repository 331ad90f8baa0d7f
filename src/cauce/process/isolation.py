"""Runs computations in child processes, so that this process starts no thread and can still be forked.

Polars starts its threads with the first computation. `cauce run` forks its workers, which is half a second faster
than starting them, and may do that only while this process has no threads of its own.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

from cauce.process.signals import signals_deferred
from cauce.process.starting import fork

Result = TypeVar("Result")

_AT_LOADING = {"jemalloc_bg_thd", "polars-ooc-clea"}
"""Threads that the libraries start when they are loaded, as the kernel names them. They survive a fork."""


def may_fork() -> bool:
    """Whether this process has no threads except the main thread and those that the libraries start when loaded.

    A lock that another thread holds at a fork is never released in the child: a library that has been used, such as
    Polars, would wait for its own threads forever.
    """
    tasks = Path("/proc/self/task")
    if not tasks.is_dir() or threading.active_count() > 1:
        return False
    try:
        others = [task for task in tasks.iterdir() if task.name != str(os.getpid())]
        return all((task / "comm").read_text().strip() in _AT_LOADING for task in others)
    except OSError:
        return False


def isolated(compute: Callable[[], Result]) -> Result:
    """The result of `compute`, which must be picklable, from a child process where one can be forked.

    An exception in the child makes this process compute again, and so raise the same exception.
    """
    (found,) = isolated_all([compute])
    return found


def isolated_all(computes: Sequence[Callable[[], Result]]) -> list[Result]:
    """As `isolated` for each of them, in child processes that run at the same time."""
    children: list[_Child] = []
    try:
        # An interruption while they start finds all of them in the list.
        with signals_deferred(signal.SIGINT, signal.SIGTERM):
            children += [_start(compute) for compute in computes] if may_fork() else []
        answers = [child.answer() for child in children] or [b""] * len(computes)
    except BaseException:
        for child in children:
            child.kill()
        raise
    return [
        # Written by a child of this process.
        pickle.loads(answer) if answer else compute()  # noqa: S301
        for compute, answer in zip(computes, answers, strict=True)
    ]


@dataclass(frozen=True)
class _Child:
    pid: int
    pipe: BinaryIO

    def answer(self) -> bytes:
        """The pickled result; empty if the child failed."""
        with self.pipe:
            answer = self.pipe.read()
        os.waitpid(self.pid, 0)
        return answer

    def kill(self) -> None:
        """Ends the child if it was not waited for yet."""
        with suppress(ChildProcessError):
            if os.waitpid(self.pid, os.WNOHANG)[0] == 0:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)


def _start(compute: Callable[[], Result]) -> _Child:
    reading, writing = os.pipe()

    def run() -> int:
        # Ctrl-C ends it at once.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        with suppress(Exception), os.fdopen(writing, "wb") as out:
            out.write(pickle.dumps(compute()))
        return 0

    pid = fork(run)
    os.close(writing)
    return _Child(pid, os.fdopen(reading, "rb"))
