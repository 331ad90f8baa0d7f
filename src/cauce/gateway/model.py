"""What goes in and out of the job service: plain values, ready to be written as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec
import polars as pl

from cauce.doctor.no_worker import NoWorker
from cauce.plan.outputs import Output
from cauce.wire.http import Compression, PartForm

State = Literal["created", "receiving", "running", "done", "failed", "cancelled", "expired"]
ENDED: frozenset[State] = frozenset(("done", "failed", "cancelled", "expired"))


class JobRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a client asks for. No queries: all of the dataset's."""

    dataset: str
    queries: list[str] = []
    parameters: dict[str, str] = {}


class TableStatus(msgspec.Struct, frozen=True):
    """`complete` is the number of parts that the client has said there are; `rows` and `rejects` are of the parts
    that have been read."""

    parts: int
    bytes: int
    complete: int | None
    parts_read: int
    rows: int
    rejects: int


class AnswerStatus(msgspec.Struct, frozen=True):
    """The pages and rows that can be read by now, and whether they are all."""

    pages: int
    rows: int
    complete: bool


class JobStatus(msgspec.Struct, frozen=True):
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
    """When the job, or what is left of it, is removed if nothing happens before."""
    parameters: dict[str, str] = {}
    no_worker: NoWorker | None = None
    """Set while the job has not ended and no worker runs."""


@dataclass(frozen=True)
class PartBody:
    """A part as it was sent. `columns` are the header's cells if a CSV body has no header line. `first_line` is the
    number of the first line of data in its file (0: not said). `digest` is the SHA-256 of `data` in hex."""

    data: bytes
    form: PartForm
    compression: Compression = ""
    file: str = ""
    first_line: int = 0
    columns: tuple[str, ...] | None = None
    digest: str | None = None


class Held(msgspec.Struct, frozen=True):
    """Which parts of a table are held: ranges of numbers, both ends included."""

    ranges: list[tuple[int, int]]
    count: int
    bytes: int
    complete: int | None


class PartReceipt(msgspec.Struct, frozen=True):
    """A part that is held. `content` is the SHA-256, and `size` the length, of its body without Content-Encoding;
    `columns` is a digest of Cauce-Columns. Of parts that an older version accepted, `content` is empty."""

    part: int
    bytes: int
    content: str
    size: int
    form: str
    file: str
    first_line: int
    columns: str


class PartsBody(msgspec.Struct, frozen=True):
    """Parts in the order of their numbers. `next` is the `from` of the next page, null on the last one."""

    parts: list[PartReceipt]
    next: int | None
    complete: int | None


@dataclass(frozen=True)
class ResultPage:
    """Rows from a cursor on. `next` is None when there are no more and will be no more. `complete`: the whole answer
    can be read by now. `total` are the rows that can be, before the cursor and behind it."""

    rows: pl.DataFrame
    next: str | None
    complete: bool
    total: int


@dataclass(frozen=True)
class RejectPage:
    """The same of rejects, in the order of tables and parts."""

    rows: pl.DataFrame
    next: str | None
    complete: bool
    total: int


@dataclass(frozen=True)
class Answer:
    """A whole answer: its columns, and its pages as they were written."""

    columns: Mapping[str, Output]
    pages: Iterator[pl.DataFrame]
