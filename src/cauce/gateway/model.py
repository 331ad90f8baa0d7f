"""Arguments and results of the job service that are not messages of the HTTP API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from cauce.api.http import Compression
from cauce.plan.outputs import Output


@dataclass(frozen=True)
class PartBody:
    """An uploaded part. `columns` are the header's cells if a CSV body has no header line. `first_line` is the
    number of the first line of data in its file (0: unknown). `digest` is the SHA-256 of `data` in hex."""

    data: bytes
    form: str
    compression: Compression = ""
    file: str = ""
    first_line: int = 0
    columns: tuple[str, ...] | None = None
    digest: str | None = None


@dataclass(frozen=True)
class ResultPage:
    """Rows from a cursor on. `next` is None after the last row. `complete`: the whole answer is readable now. `total`
    is the number of readable rows, before and after the cursor."""

    rows: pl.DataFrame
    next: str | None
    complete: bool
    total: int
    columns: Mapping[str, Output]


@dataclass(frozen=True)
class RejectPage:
    """Like ResultPage, for rejects ordered by table and part."""

    rows: pl.DataFrame
    next: str | None
    complete: bool
    total: int


@dataclass(frozen=True)
class Answer:
    """A complete answer: its columns, and its pages as they were written."""

    columns: Mapping[str, Output]
    pages: Iterator[pl.DataFrame]
