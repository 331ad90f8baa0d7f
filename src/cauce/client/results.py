"""Answers as they are read from the service: page by page while they come in, or whole in any of their forms."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import BinaryIO
from urllib.parse import quote, urlencode

import msgspec

from cauce.client.connection_problems import unreadable
from cauce.client.transport import Transport
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
    with unreadable():
        # Not by msgspec: a float would lose the digits of an exact number.
        return msgspec.convert(json.loads(data, parse_float=Decimal), Page)


def whole(transport: Transport, path: str, form: Format, into: BinaryIO) -> None:
    """The answer, byte for byte as `cauce run` writes it; it must be complete."""
    transport.download(path, ACCEPT[form], into)
