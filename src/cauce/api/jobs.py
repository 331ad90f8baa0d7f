"""Messages about jobs. The gateway encodes them, the client decodes them, and the OpenAPI document describes them."""

from __future__ import annotations

from typing import Literal

import msgspec

State = Literal["created", "receiving", "running", "done", "failed", "cancelled", "expired", "damaged"]
"""`damaged`: stored records of the job cannot be read. The job is kept until its owner removes it."""
ENDED: frozenset[State] = frozenset(("done", "failed", "cancelled", "expired", "damaged"))


class JobRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A client's request for a job. An empty list of queries means all queries of the dataset."""

    dataset: str
    queries: list[str] = []
    parameters: dict[str, str] = {}
    on: str = ""
    """The kept dataset that the job reads; empty if the client uploads the data."""


class TableStatus(msgspec.Struct, frozen=True):
    """`complete` is the number of parts with which the client completed the table, None before that. `rows` and
    `rejects` count the parts that have been read. `title` is the name of the table in statements, where paths do not
    allow it."""

    parts: int
    bytes: int
    complete: int | None
    parts_read: int
    rows: int
    rejects: int
    title: str = ""


class AnswerStatus(msgspec.Struct, frozen=True):
    """The pages and rows that are readable now. `complete`: there will be no more."""

    pages: int
    rows: int
    complete: bool


class NoWorker(msgspec.Struct, frozen=True):
    """No worker runs. `text` names each worker, its state and the command that starts them. `can_start`: the reader
    may start them with PUT /v1/cluster/workers."""

    text: str
    can_start: bool = False


class JobStatus(msgspec.Struct, frozen=True):
    """The state of a job, with the progress of each table and each answer. Times are seconds since 1970."""

    job: str
    owner: str
    dataset: str
    queries: list[str]
    state: State
    cause: str
    code: str
    created: float
    ended: float | None
    tables: dict[str, TableStatus]
    answers: dict[str, AnswerStatus]
    expires: float | None
    """When the job, or its tombstone, is removed if there is no activity before."""
    parameters: dict[str, str] = {}
    no_worker: NoWorker | None = None
    """Set while the job has not ended and no worker runs."""
    on: str = ""
    """The kept dataset that the job reads, and its version; empty and 0 if the client uploads the data."""
    version: int = 0

    @property
    def over(self) -> bool:
        """Whether the job has ended, in any state."""
        return self.state in ENDED

    @property
    def rows(self) -> int:
        """The rows read so far, of all tables."""
        return sum(table.rows for table in self.tables.values())

    @property
    def rejects(self) -> int:
        """The rejects so far, of all tables."""
        return sum(table.rejects for table in self.tables.values())


class JobsBody(msgspec.Struct, frozen=True):
    """Jobs, oldest first. `next` is the `cursor` of the next page, null on the last one. `owner` is the caller: the
    answers of jobs of others, which only the operator can list, are for their owners."""

    jobs: list[JobStatus]
    next: str | None = None
    owner: str = ""


class WhyBody(msgspec.Struct, frozen=True):
    why: str


class AliveBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """`notice` is set while no worker runs: jobs are accepted, but wait."""

    status: str
    notice: str = ""
