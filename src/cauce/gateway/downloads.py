"""Answers and rejects as they go out: pages as JSON, or whole in each of the forms, a chunk at a time."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import BinaryIO, cast

import msgspec
import polars as pl

from cauce.gateway.model import Answer, RejectPage, ResultPage
from cauce.plan.outputs import PLAIN, TimestampOutput
from cauce.wire import Format
from cauce.wire.formats import open_answer, without_zeros
from cauce.wire.http import ARROW_FILE, ARROW_STREAM, CSV, JSON, PARQUET

CHUNK_BYTES = 256 << 10

FORMS: dict[str, Format] = {
    CSV: "csv",
    JSON: "json",
    ARROW_FILE: "arrow",
    ARROW_STREAM: "arrow",
    PARQUET: "parquet",
}
"""The forms of a whole answer by what a client accepts. Both Arrow types give Arrow's file format, which is what
`cauce run` writes."""

SENT_AS: dict[Format, str] = {"csv": CSV, "json": JSON, "arrow": ARROW_FILE, "parquet": PARQUET}

_encoder = msgspec.json.Encoder(decimal_format="number")


Cell = str | int | float | bool | list[str] | None
"""A value as JSON has it; dates and times are texts, exact numbers keep all their digits."""


class PageBody(msgspec.Struct, frozen=True):
    """A page as JSON. `next` is the cursor of the following one; null when there is none and will be none. `total` is
    how many rows there are by now, in all pages."""

    columns: list[str]
    rows: list[list[Cell]]
    next: str | None
    complete: bool
    total: int


def page_json(page: ResultPage | RejectPage) -> bytes:
    """Numbers are written as in a whole answer: exactly."""
    frame = page.rows
    columns = [_values(frame[name]) for name in frame.columns]
    rows = cast(list[list[Cell]], list(zip(*columns, strict=True)))
    return _encoder.encode(PageBody(frame.columns, rows, page.next, page.complete, page.total))


def _values(column: pl.Series) -> list[object]:
    if column.dtype == PLAIN.dtype:
        return [without_zeros(value) for value in column]
    if isinstance(column.dtype, pl.Datetime):
        return TimestampOutput(column.dtype).text(column).to_list()
    return column.to_list()


class _Chunks(io.RawIOBase):
    """A file that is taken away while it is written."""

    def __init__(self) -> None:
        super().__init__()
        self._held: list[bytes] = []
        self._size = 0
        self.waiting = 0

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        copied = bytes(memoryview(data))  # type: ignore[arg-type]
        self._held.append(copied)
        self._size += len(copied)
        self.waiting += len(copied)
        return len(copied)

    def tell(self) -> int:
        return self._size

    def take(self) -> bytes:
        taken = b"".join(self._held)
        self._held, self.waiting = [], 0
        return taken


def answer_chunks(answer: Answer, form: Format) -> Iterator[bytes]:
    """The bytes that `cauce run` would write of an answer."""
    out = _Chunks()
    writer = open_answer(cast(BinaryIO, out), answer.columns, form)
    for page in answer.pages:
        writer.page(page)
        if out.waiting >= CHUNK_BYTES:
            yield out.take()
    writer.close()
    yield out.take()


def text_chunks(lines: Iterator[str]) -> Iterator[bytes]:
    held: list[bytes] = []
    size = 0
    for line in lines:
        held.append(line.encode())
        size += len(held[-1])
        if size >= CHUNK_BYTES:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)
