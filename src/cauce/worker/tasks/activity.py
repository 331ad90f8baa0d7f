"""The task that a worker process is running: a crash of the process is attributed to it."""

from __future__ import annotations

from collections.abc import Callable

from cauce.errors import CauceError, FabricFull
from cauce.worker.journal import Journal


class Activity:
    """The running task of a worker process, and the suspended ones. A crash is attributed to the running task, and a
    crash for lack of memory also to the suspended ones, but never to a task that the process merely holds.

    Refers to tasks by their journals, to keep no large task alive. `wait_until_alone` is called within a step, and
    returns when no other step is suspended."""

    def __init__(self, wait_until_alone: Callable[[], None] = lambda: None) -> None:
        self.wait_until_alone = wait_until_alone
        self._journal: Journal | None = None
        """The journal of the task that started last."""
        self._suspended: list[Journal] = []

    def enter(self, journal: Journal) -> bool:
        """Makes this the running task instead of the previous one. Returns whether others are suspended."""
        before, self._journal = self._journal, journal
        if before is not None and before is not journal:
            attempt(before.suspend if before in self._suspended else before.abort)
        return any(each is not journal for each in self._suspended)

    def suspend(self, journal: Journal) -> None:
        """Marks the step of the task as suspended."""
        self._suspended.append(journal)

    def resume(self, journal: Journal) -> None:
        self._suspended.remove(journal)

    def leave(self) -> None:
        """The task is finished: its journal is not read again."""
        self._journal = None


def attempt(append: Callable[[], object]) -> None:
    """Best effort: records the outcome of a start. A failure may attribute a crash to the wrong task, but must not fail
    the work. A full disk affects every task, so it is raised."""
    try:
        append()
    except FabricFull:
        raise
    except (CauceError, OSError):
        pass
