"""What carries logs and leases, as the rest of the system sees it: three implementations, one suite of tests.

The trap to know: `append` may fail after the record has got into the log, and `read` may give a record twice or
give records of different writers in any order. Names make both harmless; nothing else does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from cauce.wire.records import Record

Durability = Literal["process", "power"]
"""What confirmed records survive: the death of any process, or a loss of power too."""

Position = dict[str, int]
"""How far a log has been read, in the fabric's own terms. Empty is the beginning."""

Saying = tuple[str, Sequence[Record]]
"""A log, and what is to be said in it."""


@dataclass(frozen=True)
class Batch:
    """Records read from a log, and the position behind them."""

    records: Sequence[Record]
    position: Position


class Lease(Protocol):
    """The duty to run a task. It ends with `done`, with `give_back`, or with the death of its holder."""

    @property
    def task(self) -> str: ...

    @property
    def attempt(self) -> int:
        """How often the lease has been taken, this time included."""

    def done(self) -> None:
        """The task is finished for ever: nobody gets the lease again."""

    @property
    def lost(self) -> bool:
        """Whether somebody else may hold it by now though we have ended it in neither way: what we held it with broke.
        Going on does no harm, but is work done twice."""

    def give_back(self) -> None:
        """Somebody else may have it at once."""


class Fabric(Protocol):
    """Logs are named within a job and come into being with their first record.

    What stands before the first dot of a log's name is its shelf. Logs of one shelf may be kept together, which is
    cheaper to make and dearer to read alone. What others have said, or created, or deleted, may be seen a little
    late; what this object has said itself, and all that stands before it in that log, is seen at once."""

    def create_job(self, job: str, manifest: bytes) -> bytes:
        """Registers a job, once; returns the manifest it was first created with."""

    def jobs(self) -> list[str]:
        """Jobs that have been created and not deleted, oldest first."""

    def manifest(self, job: str) -> bytes | None:
        """What the job was created with; None if there is no such job."""

    def append(self, job: str, log: str, records: Sequence[Record]) -> None:
        """Returns when all records are in the log. If it raises, any of them may be in it or not."""

    def append_all(self, job: str, sayings: Sequence[Saying]) -> None:
        """Appends to several logs of a job, confirmed together. In each log its records keep their order."""

    def catch_up(self, job: str | None = None, *logs: str) -> None:
        """What had been confirmed to anybody before this call is seen after it: jobs and manifests, or, where a job
        and logs are given, the records of those logs. For whoever is about to refuse something for being absent."""

    def read(self, job: str, log: str, position: Position, limit_bytes: int) -> Batch:
        """Some records after a position (at least one, if there is one), without waiting for more."""

    def offer(self, job: str, queue: str, tasks: Sequence[str]) -> None:
        """Makes tasks available, in this order. Offering one again changes nothing."""

    def take(self, job: str, queue: str) -> Lease | None:
        """The first task of a queue that is neither finished nor held."""

    def trim(self, job: str, keep: Sequence[str]) -> None:
        """For a job that has ended: all its logs but these are gone, and all its leases. What is appended to another
        log after that goes nowhere, and nothing is offered any more. Trimming again does no harm."""

    def delete_job(self, job: str) -> None:
        """The job, its logs and its leases are gone. Deleting it again, or half of it, does no harm."""

    def close(self) -> None: ...
