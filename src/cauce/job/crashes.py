"""Attributes worker crashes to the job that was running, and decides when a job is quarantined. Does no I/O.

A start ended in a crash if the next holder of the task's lease finds it neither completed nor aborted. Every start
records the consecutive crashes of its job known at that time, so that workers killed at the same time count as one
crash.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Literal

import msgspec

from cauce.errors import JobFailed

Cause = Literal["", "memory", "hung", "fault"]
"""Known cause of a crash. Empty: the process was killed by an unknown sender."""

PROVEN = 3
"""Consecutive crashes by lack of memory, a hang or a fault that quarantine a job. Kills from outside, such as those of
an operator, are not counted."""
MOST_PROVEN = 10
"""Such crashes in total that quarantine a job, even if it makes progress between them."""


class Scene(msgspec.Struct, frozen=True, omit_defaults=True):
    """Context of a start: the consecutive `crashes` of its job so far, and how many of them are `proven`; the worker;
    the kernel's counter of out-of-memory kills and the `scope` of that counter; and whether the memory of the process
    was `shared` with suspended steps of other owners."""

    crashes: int = 0
    proven: int = 0
    worker: str = ""
    scope: str = ""
    kills: int = 0
    shared: bool = False


class Start(msgspec.Struct, frozen=True, omit_defaults=True):
    """Journal entry that work has started. `which` is a unique id; `closes` is the id of the start of the same worker
    that this one ends. `snapshot` is the number of snapshots of the task so far. A start recorded again as `suspended`
    is not running, but keeps its memory."""

    which: str
    run_id: str | None = msgspec.field(name="life", default=None)
    what: str = ""
    closes: str = ""
    snapshot: int = 0
    scene: Scene = Scene()
    suspended: bool = False


class Crash(msgspec.Struct, frozen=True, omit_defaults=True):
    """Job log entry: a start that ended in a crash."""

    task: int
    seq: int
    start: Start
    cause: Cause = ""
    progressed: bool = False
    """Whether the task has taken a snapshot since its start. Such a crash is not counted as consecutive."""

    @property
    def row(self) -> int:
        return self.start.scene.crashes + 1

    @property
    def proven(self) -> bool:
        """Whether this job is known to be the cause. Memory may have been used by suspended steps of other owners in
        the same process."""
        return bool(self.cause) and not self.is_suspect

    @property
    def is_suspect(self) -> bool:
        """Whether this job may have used the memory, but other suspended steps may have too."""
        return self.cause == "memory" and (self.start.scene.shared or self.start.suspended)

    @property
    def proven_row(self) -> int:
        return self.start.scene.proven + self.proven


class Cleared(msgspec.Struct, frozen=True, omit_defaults=True):
    """Start ids of crashes after which the job made progress; if `survived`, of starts that did not crash at all."""

    which: tuple[str, ...]
    survived: bool = False


class Crashes:
    """The crashes of one job; if `run_id` is given, only those of that run. Independent of the order of calls."""

    def __init__(self, job: str, attempts: int, run_id: str | None = None) -> None:
        self._job = job
        self._attempts = attempts
        self._run_id = run_id
        self._found: dict[str, Crash] = {}
        self._cleared: set[str] = set()
        self._survived: set[str] = set()

    def __contains__(self, which: str) -> bool:
        return which in self._found

    def is_suspect(self, which: str) -> bool:
        """Whether the start ended in a crash that may have been caused by its job or by another one."""
        return which in self._found and self._found[which].is_suspect

    def add(self, crash: Crash) -> None:
        if self._run_id is None or crash.start.run_id == self._run_id:
            self._found.setdefault(crash.start.which, crash)

    def clear(self, cleared: Cleared) -> None:
        (self._survived if cleared.survived else self._cleared).update(cleared.which)

    def in_a_row(self) -> list[Crash]:
        """Crashes since the job last made progress."""
        return [each for each in self._counted() if each.start.which not in self._cleared and not each.progressed]

    def _counted(self) -> list[Crash]:
        return [crash for which, crash in self._found.items() if which not in self._survived]

    def longest(self) -> tuple[int, int]:
        """The number of consecutive crashes: all, and proven ones."""
        row = self.in_a_row()
        return max((each.row for each in row), default=0), max((each.proven_row for each in row), default=0)

    def verdict(self) -> JobFailed | None:
        """The reason to quarantine the job, or None."""
        proven = min(PROVEN, self._attempts)
        for blamed in self._same_work():
            if len(blamed) >= self._attempts or _proven(blamed) >= proven:
                return JobFailed(self._message(blamed, ""))
        crashes, proven_crashes = self.longest()
        if crashes >= self._attempts or proven_crashes >= proven:
            return JobFailed(self._message(self.in_a_row(), " without any progress between"))
        if _proven(self._counted()) >= MOST_PROVEN:
            return JobFailed(self._message(self._counted(), ""))
        return None

    def _same_work(self) -> list[list[Crash]]:
        """Crashes grouped by part, or by fold since its last snapshot. They share a lease: one at a time."""
        groups: dict[tuple[int, int, int], list[Crash]] = {}
        for each in self._counted():
            if not each.progressed:
                groups.setdefault((each.task, each.seq, each.start.snapshot), []).append(each)
        return list(groups.values())

    def _message(self, blamed: Collection[Crash], how: str) -> str:
        works = Counter(each.start.what for each in blamed)
        if len(works) == 1:
            problem = f"{next(iter(works))} has killed its worker {_times(len(blamed))}{how}"
        else:
            each = ", ".join(f"{what} ({_times(count)})" for what, count in works.items())
            problem = f"it has killed its workers {_times(len(blamed))}{how}: {each}"
        return f"job {self._job} is quarantined: {problem}. {_causes(blamed)}"


def _proven(crashes: Iterable[Crash]) -> int:
    return sum(each.proven for each in crashes)


def _causes(crashes: Collection[Crash]) -> str:
    """The causes, and the advice for each."""
    counts = Counter(each.cause for each in crashes)
    causes = [f"{_CAUSES[cause]} ({_times(counts[cause])})" for cause in _CAUSES if counts[cause]]
    advice = [_ADVICE[cause] for cause in _ADVICE if counts[cause]]
    return f"Causes: {', '.join(causes)}. To do: {'; '.join(advice)}; then run the job again"


_CAUSES: dict[Cause, str] = {
    "memory": "killed by the kernel for lack of memory",
    "hung": "hung: ended by its doctor after it made no progress",
    "fault": "ended by the kernel for a fault of the program, such as SIGSEGV",
    "": "crashed, or was killed from outside",
}
_ADVICE: dict[Cause, str] = {
    "memory": "give the workers more memory or the job less data",
    "hung": "look at the stack in the worker's log, and at the length of the texts there",
    "fault": "look at the worker's log and at the data there, and leave out the query that fails",
    "": "look at the data there and at the memory of this machine",
}


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
