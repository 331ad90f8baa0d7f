"""Events that the prefork server sends about its workers, and their exit codes. Imports little, so that a run starts
fast."""

from __future__ import annotations

import msgspec

EXIT_FAILED, EXIT_FULL, EXIT_OLD, EXIT_TWIN, EXIT_MEMORY = 70, 74, 75, 76, 77

FABRIC_VARIABLE = "CAUCE_WORKERS_FABRIC"
"""Environment variable that passes the address of the fabric to a prefork server started as a new program."""

GRACE_S = 4.0
"""How long a step may continue after SIGTERM. The next holder of the lease does the rest."""


SERVICE_ATTEMPTS = 10
"""Worker crashes on one part that fail the job in a service. More than for a run: the processes of a service are also
killed for reasons that are unrelated to the part."""


class Assignment(msgspec.Struct, frozen=True, array_like=True):
    """The work that a process holds. Its job, and the job's name, are visible only to the job's owner."""

    owner: str = ""
    job: str = ""
    """The name of the job on the fabric."""
    task: str = ""
    """For display: a task of the job, or the activity of a process that holds no job."""

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.job, self.task)))


NO_WORK = Assignment()


class Event(msgspec.Struct, frozen=True):
    """`what` is `started` or `died`; a worker that died has a signal or an exit code."""

    what: str
    worker: int
    pid: int
    signal: int = 0
    code: int = 0
