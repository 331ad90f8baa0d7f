"""Retry backoff of a worker for one job: after an error that affects only this job, the worker skips it for a time."""

from __future__ import annotations

import errno

from cauce.errors import CauceError, FabricError

FIRST_S, LONGEST_S = 0.5, 60.0
"""Backoff of a job, at first and at most; doubled each time."""
MOST_TRIES = 6
"""Consecutive failures of a step by a transient error after which the job fails."""

_TRANSIENT = frozenset(
    (
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
        errno.EIO,
        errno.EACCES,
        errno.EPERM,
        errno.EAGAIN,
        errno.EBUSY,
        errno.ESTALE,
        errno.ETIMEDOUT,
    )
)
"""Operating system errors that may be transient, or limited to this process or this machine."""


def is_transient(problem: BaseException) -> bool:
    """Whether a retry, later or by another worker, may succeed."""
    cause = problem.__cause__ if isinstance(problem, FabricError) else problem
    return isinstance(cause, OSError) and cause.errno in _TRANSIENT


class SetAside:
    def __init__(self, job: str, problem: BaseException, before: SetAside | None, now: float) -> None:
        self.job = job
        self.problem = problem
        self.tries: int = before.tries + 1 if before is not None else 1
        self.pause_s = min(FIRST_S * 2 ** min(self.tries - 1, 20), LONGEST_S)
        self.due = now + self.pause_s

    @property
    def may_retry(self) -> bool:
        return self.tries < MOST_TRIES

    @property
    def code(self) -> str:
        return self.problem.code if isinstance(self.problem, CauceError) else type(self.problem).__name__

    def __str__(self) -> str:
        problem = " ".join(str(self.problem).split())
        return f"job {self.job} is set aside for {self.pause_s:g} s: {problem}"
