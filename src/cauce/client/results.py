"""Answers as they are read from the service: page by page while they come in, or whole in any of their forms."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import BinaryIO
from urllib.parse import quote, urlencode

import msgspec
import polars as pl

from cauce.client.transport import Transport
from cauce.plan.outputs import Output
from cauce.scan.block import REJECT_SCHEMA
from cauce.wire import Format
from cauce.wire.http import ARROW_STREAM, CSV, JSON, PARQUET

PAGE_ROWS = 10_000
LONG_POLL_S = 20.0
ACCEPT: dict[Format, str] = {"csv": CSV, "json": JSON, "arrow": ARROW_STREAM, "parquet": PARQUET}


class Page(msgspec.Struct, frozen=True):
    """Some rows of an answer, as JSON has them; exact numbers are decimals."""

    columns: list[str]
    rows: list[list[object]]
    next: str | None = None
    complete: bool = False


def job_path(job: str, *more: str) -> str:
    return "/".join(["/v1/jobs", *(quote(each, safe="") for each in (job, *more))])


def pages(transport: Transport, path: str, *, limit: int = PAGE_ROWS, wait_s: float = LONG_POLL_S) -> Iterator[Page]:
    """The pages that have rows, each as soon as the service has it; one in any case where that is all there is.

    Without waiting it gives those that are there by now.
    """
    cursor: str | None = None
    first = True
    while True:
        asked = {"limit": str(limit), "wait": f"{wait_s:g}"} | ({} if cursor is None else {"cursor": cursor})
        reply = transport.request("GET", f"{path}?{urlencode(asked)}", headers={"Accept": JSON}, wait_s=wait_s)
        page = load_page(reply.body)
        if page.rows or (first and page.next is None):
            yield page
            first = False
        if page.next is None or not (page.rows or wait_s):
            return
        cursor = page.next


def load_page(data: bytes) -> Page:
    # Not by msgspec: a float would lose the digits of an exact number.
    return msgspec.convert(json.loads(data, parse_float=Decimal), Page)


def whole(transport: Transport, path: str, form: Format, into: BinaryIO) -> None:
    """The answer, byte for byte as `cauce run` writes it; it must be complete."""
    transport.download(path, ACCEPT[form], into)


def whole_frame(transport: Transport, path: str) -> pl.DataFrame:
    held = io.BytesIO()
    whole(transport, path, "arrow", held)
    held.seek(0)
    return pl.read_ipc(held) if held.getvalue().startswith(b"ARROW1") else pl.read_ipc_stream(held)


def frame_of(page: Page, columns: Mapping[str, Output]) -> pl.DataFrame:
    """The rows of a page with the types that the query declares."""
    cells: list[list[object]] = [[row[place] for row in page.rows] for place in range(len(page.columns))]
    by_name = dict(zip(page.columns, cells, strict=True))
    return pl.DataFrame([_series(name, by_name[name], output.dtype) for name, output in columns.items()])


def _series(name: str, values: list[object], dtype: pl.DataType) -> pl.Series:
    if dtype == pl.Date():
        values = [None if value is None else date.fromisoformat(str(value)) for value in values]
    elif isinstance(dtype, pl.Decimal):
        values = [None if value is None else Decimal(str(value)) for value in values]
    elif dtype.is_float():
        values = [float(value) if isinstance(value, int | Decimal) else value for value in values]
    return pl.Series(name, values, dtype=dtype)


def rejects_frame(found: Iterator[Page]) -> pl.DataFrame:
    rows = [row for page in found for row in page.rows]
    return pl.DataFrame(rows, schema=REJECT_SCHEMA, orient="row")
