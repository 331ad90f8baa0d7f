"""Reads answers from the service: page by page as they become available, or complete in any format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import BinaryIO
from urllib.parse import quote, urlencode

import msgspec

from cauce.api.formats import Format
from cauce.api.http import ARROW_STREAM, CSV, JSON, PARQUET
from cauce.client.connection_problems import unreadable
from cauce.client.transport import Transport

PAGE_ROWS = 10_000
LONG_POLL_S = 20.0
ACCEPT: dict[Format, str] = {"csv": CSV, "json": JSON, "arrow": ARROW_STREAM, "parquet": PARQUET}


class Page(msgspec.Struct, frozen=True):
    """Some rows of an answer, decoded from JSON; exact numbers are decimals."""

    columns: list[str]
    rows: list[list[object]]
    next: str | None = None
    complete: bool = False


def job_path(job: str, *more: str) -> str:
    return "/".join(["/v1/jobs", *(quote(each, safe="") for each in (job, *more))])


def pages(transport: Transport, path: str, *, limit: int = PAGE_ROWS, wait_s: float = LONG_POLL_S) -> Iterator[Page]:
    """Yields each page with rows as soon as the service has it. An answer without rows yields one empty page.

    With `wait_s` of 0, it yields only the pages that are available now.
    """
    cursor: str | None = None
    first = True
    while True:
        query = {"limit": str(limit), "wait": f"{wait_s:g}"} | ({} if cursor is None else {"cursor": cursor})
        reply = transport.request("GET", f"{path}?{urlencode(query)}", headers={"Accept": JSON}, wait_s=wait_s)
        page = load_page(reply.body)
        if page.rows or (first and page.next is None):
            yield page
            first = False
        if page.next is None or not (page.rows or wait_s):
            return
        cursor = page.next


def load_page(data: bytes) -> Page:
    with unreadable():
        # Not msgspec.json.decode, which decodes exact numbers as floats and loses digits.
        return msgspec.convert(json.loads(data, parse_float=Decimal), Page)


def whole(transport: Transport, path: str, form: Format, into: BinaryIO) -> None:
    """Downloads a complete answer, byte for byte as `cauce run` writes it."""
    transport.download(path, ACCEPT[form], into)
