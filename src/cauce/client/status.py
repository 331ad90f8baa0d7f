"""What a gateway says of a job, as the client reads it. Fields that a newer gateway adds are passed over."""

from __future__ import annotations

from typing import Literal

import msgspec

from cauce.client.connection_problems import unreadable

State = Literal["created", "receiving", "running", "done", "failed", "cancelled", "expired"]
Ended = Literal["done", "failed", "cancelled", "expired"]
ENDED: tuple[Ended, ...] = ("done", "failed", "cancelled", "expired")


class TableStatus(msgspec.Struct, frozen=True):
    parts: int = 0
    bytes: int = 0
    complete: int | None = None
    """How many parts it has, once that was said."""
    parts_read: int = 0
    rows: int = 0
    rejects: int = 0


class AnswerStatus(msgspec.Struct, frozen=True):
    pages: int = 0
    rows: int = 0
    complete: bool = False


class NoWorker(msgspec.Struct, frozen=True):
    text: str = ""
    """What each worker does instead, and the command that starts them."""


class JobStatus(msgspec.Struct, frozen=True):
    job: str
    dataset: str
    state: State
    owner: str = ""
    queries: tuple[str, ...] = ()
    cause: str = ""
    code: str = ""
    created: float | None = None
    ended: float | None = None
    expires: float | None = None
    tables: dict[str, TableStatus] = {}
    answers: dict[str, AnswerStatus] = {}
    parameters: dict[str, str] = {}
    no_worker: NoWorker | None = None
    """Set while the job has not ended and no worker runs."""

    @property
    def over(self) -> bool:
        return self.state in ENDED

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables.values())

    @property
    def rejects(self) -> int:
        return sum(table.rejects for table in self.tables.values())


class JobList(msgspec.Struct, frozen=True):
    jobs: list[JobStatus]


_job = msgspec.json.Decoder(JobStatus)
_jobs = msgspec.json.Decoder(JobList | list[JobStatus])


def load_status(data: bytes) -> JobStatus:
    with unreadable():
        return _job.decode(data)


def load_statuses(data: bytes) -> list[JobStatus]:
    with unreadable():
        found = _jobs.decode(data)
    return found.jobs if isinstance(found, JobList) else found
