"""Runs a computation in a child process, so that this process starts no thread and can still be forked.

Polars starts its threads with the first computation. `cauce run` forks its workers, which is half a second faster
than starting them, and may do that only while this process has no threads of its own.
"""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

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
    answer = _in_child(compute) if may_fork() else None
    if not answer:
        return compute()
    found: Result = pickle.loads(answer)  # noqa: S301  (written by a child of this process)
    return found


def _in_child(compute: Callable[[], Result]) -> bytes:
    """The pickled result; empty if the child failed."""
    reading, writing = os.pipe()

    def run() -> int:
        with suppress(Exception), os.fdopen(writing, "wb") as out:
            out.write(pickle.dumps(compute()))
        return 0

    child = fork(run)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer
