"""Reads the parts that clients upload, to jobs and to kept datasets, within the gateway's budget for bodies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response

from cauce.api.http import BYTES, COLUMNS, COMPLETE, CONTENT_DIGEST, COUNT, FILE, FIRST_LINE, PARTS
from cauce.api.parts import Held
from cauce.gateway.asgi.body_limits import BodyBudget
from cauce.gateway.asgi.operations import TEXT, Json, parameter, whole_number
from cauce.gateway.asgi.part_headers import part_of_headers
from cauce.gateway.asgi.request_body import Pace, read_body
from cauce.gateway.asgi.responses import json_response
from cauce.gateway.http.auth import Access
from cauce.gateway.metrics import Metrics
from cauce.gateway.model import PartBody
from cauce.gateway.settings import GatewaySettings

MAX_RECEIPTS = 10_000
PARTS_BYTES = 8 << 10
"""Size limit of the Cauce-Parts header. The JSON body always lists all parts."""

RECEIPT_PAGE = (
    parameter("from", whole_number(0, default=0), "Number of the first part to list: `next` of the previous page"),
    parameter("limit", whole_number(1, MAX_RECEIPTS, MAX_RECEIPTS), "Maximum number of parts"),
)
PART_HEADERS = tuple(
    parameter(name, schema, description, "header")
    for name, schema, description in (
        ("Content-Encoding", {"type": "string", "enum": ["gzip", "zstd", "identity"]}, "Only for CSV and NDJSON"),
        (
            CONTENT_DIGEST,
            {"type": "string", "pattern": "^sha-256=:[A-Za-z0-9+/]{43}=:$"},
            "SHA-256 of the body as sent (RFC 9530)",
        ),
        (FILE, {"type": "string", "maxLength": 4096}, "Name of the file that contains the part, percent-encoded"),
        (FIRST_LINE, whole_number(0), "Line of that file at which the data of the part start"),
        (COLUMNS, TEXT, "Column names of CSV without a header line: a JSON array of strings, percent-encoded"),
    )
)
HELD_HEADERS: Json = {
    PARTS: {"schema": TEXT, "description": "Numbers of the stored parts, such as 0-12,14"},
    COUNT: {"schema": {"type": "integer"}, "description": "Number of stored parts"},
    BYTES: {"schema": {"type": "integer"}, "description": "Total size of the stored parts in bytes"},
    COMPLETE: {"schema": {"type": "integer"}, "description": "Number of parts of the table, once it is complete"},
}


class PartUploads:
    def __init__(self, settings: GatewaySettings, access: Access, metrics: Metrics) -> None:
        self.body_budget = BodyBudget(settings.room_bytes)
        self._limit = settings.limits.part_bytes
        self._pace = Pace(settings.silence_s, settings.body_bytes_per_s)
        self._access = access
        self._metrics = metrics

    async def store(self, request: Request, owner: str, put: Callable[[PartBody], Awaitable[bool]]) -> tuple[bool, int]:
        """Reads the part of a request and stores it with `put`. Returns whether it is new, and its size."""
        part = part_of_headers(request.headers)
        with self.body_budget.reserve(owner) as reservation:
            data = await read_body(request, self._limit, "part-too-large", self._pace, reservation)
            # The token may have been removed while the body arrived.
            self._access.owner(request)
            new = await put(replace(part, data=data))
        self._metrics.parts.labels("new" if new else "held").inc()
        return new, len(data)


def held_response(held: Held) -> Response:
    headers = {PARTS: ranges_text(held), COUNT: str(held.count), BYTES: str(held.bytes)}
    if held.complete is not None:
        headers[COMPLETE] = str(held.complete)
    return json_response(held, headers=headers)


def ranges_text(held: Held) -> str:
    """`0-12,14`, truncated to PARTS_BYTES. Clients may safely resend omitted parts: uploads are idempotent."""
    texts: list[str] = []
    size = 0
    for first, last in held.ranges:
        text = f"{first}-{last}" if last > first else f"{first}"
        size += len(text) + 1
        if size > PARTS_BYTES:
            break
        texts.append(text)
    return ",".join(texts)
