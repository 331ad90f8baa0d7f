"""Encodes results and rejects for download: single pages as JSON, or everything in a file format, chunk by chunk."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import BinaryIO, cast

import msgspec
import polars as pl

from cauce.api.formats import Format
from cauce.api.http import ARROW_FILE, ARROW_STREAM, CSV, JSON, PARQUET
from cauce.gateway.jobs.charts import Chart, chart_of
from cauce.gateway.model import Answer, RejectPage, ResultPage
from cauce.job.result_formats import open_answer, without_zeros
from cauce.plan.outputs import DECIMAL, TimestampOutput

CHUNK_BYTES = 256 << 10

FORMAT_OF: dict[str, Format] = {
    CSV: "csv",
    JSON: "json",
    ARROW_FILE: "arrow",
    ARROW_STREAM: "arrow",
    PARQUET: "parquet",
}
"""Formats of a whole result by accepted media type. Both Arrow types give the Arrow file format, as in `cauce run`."""

MEDIA_TYPE_OF: dict[Format, str] = {"csv": CSV, "json": JSON, "arrow": ARROW_FILE, "parquet": PARQUET}

_encoder = msgspec.json.Encoder(decimal_format="number")


Cell = str | int | float | bool | list[str] | None
"""A JSON value. Dates and times are strings; exact numbers keep all their digits."""


class PageBody(msgspec.Struct, frozen=True):
    """A page as JSON. `next` is the cursor of the next page, null after the last one. `total` is the number of rows so
    far, over all pages. `chart` is how the answer can be drawn, null where only a table makes sense."""

    columns: list[str]
    rows: list[list[Cell]]
    next: str | None
    complete: bool
    total: int
    chart: Chart | None


def page_json(page: ResultPage | RejectPage) -> bytes:
    """Encodes a page. Numbers are exact, as in a whole result."""
    frame = page.rows
    columns = [_values(frame[name]) for name in frame.columns]
    rows = cast(list[list[Cell]], list(zip(*columns, strict=True)))
    chart = chart_of(page.columns) if isinstance(page, ResultPage) else None
    return _encoder.encode(PageBody(frame.columns, rows, page.next, page.complete, page.total, chart))


def _values(column: pl.Series) -> list[object]:
    if column.dtype == DECIMAL.dtype:
        return [without_zeros(value) for value in column]
    if isinstance(column.dtype, pl.Datetime):
        return TimestampOutput(column.dtype).text(column).to_list()
    return column.to_list()


class _Chunks(io.RawIOBase):
    """A writable file whose content is drained while it is written."""

    def __init__(self) -> None:
        super().__init__()
        self._chunks: list[bytes] = []
        self._size = 0
        self.buffered_bytes = 0

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        copied = bytes(memoryview(data))  # type: ignore[arg-type]
        self._chunks.append(copied)
        self._size += len(copied)
        self.buffered_bytes += len(copied)
        return len(copied)

    def tell(self) -> int:
        return self._size

    def drain(self) -> bytes:
        drained = b"".join(self._chunks)
        self._chunks, self.buffered_bytes = [], 0
        return drained


def answer_chunks(answer: Answer, form: Format) -> Iterator[bytes]:
    """The result as a file, byte-identical to the one that `cauce run` writes."""
    out = _Chunks()
    writer = open_answer(cast(BinaryIO, out), answer.columns, form)
    for page in answer.pages:
        writer.page(page)
        if out.buffered_bytes >= CHUNK_BYTES:
            yield out.drain()
    writer.close()
    yield out.drain()


def text_chunks(lines: Iterator[str]) -> Iterator[bytes]:
    chunks: list[bytes] = []
    size = 0
    for line in lines:
        chunks.append(line.encode())
        size += len(chunks[-1])
        if size >= CHUNK_BYTES:
            yield b"".join(chunks)
            chunks, size = [], 0
    yield b"".join(chunks)
