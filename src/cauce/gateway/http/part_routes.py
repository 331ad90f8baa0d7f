"""Routes of parts: uploads to the tables of jobs and of kept datasets, within the gateway's budget for bodies, and
lists of the stored parts. Headers are validated before the body is read."""

from __future__ import annotations

import base64
import binascii
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol
from urllib.parse import unquote_to_bytes

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from cauce.api.http import (
    BYTES,
    COLUMNS,
    COMPLETE,
    COMPRESSIONS,
    CONTENT_DIGEST,
    COUNT,
    FILE,
    FIRST_LINE,
    PARTS,
    REFERENCE,
    Compression,
)
from cauce.api.parts import CompleteAnswer, CompleteBody, Held, PartAnswer, PartsBody
from cauce.gateway.asgi.application import exchange_of, json_response, number, read_json
from cauce.gateway.asgi.operations import BINARY, TEXT, Json, Operation, parameter, whole_number
from cauce.gateway.asgi.problems import bad_request
from cauce.gateway.asgi.request_body import BodyBudget, BodyLimit, Pace
from cauce.gateway.errors import UnsupportedFormat
from cauce.gateway.http.auth import Access
from cauce.gateway.jobs.part_validation import REFERENCE_FORM
from cauce.gateway.metrics import Metrics
from cauce.gateway.model import PartBody
from cauce.gateway.pool import Pool
from cauce.gateway.service import Service
from cauce.gateway.settings import GatewaySettings
from cauce.process.telemetry.traces import PartName, Traces
from cauce.scan.formats.table import format_named, format_sent_as, media_types

MAX_RECEIPTS = 10_000
PARTS_BYTES = 8 << 10
"""Size limit of the Cauce-Parts header. The JSON body always lists all parts."""

_RECEIPT_PAGE = (
    parameter("from", whole_number(0, default=0), "Number of the first part to list: `next` of the previous page"),
    parameter("limit", whole_number(1, MAX_RECEIPTS, MAX_RECEIPTS), "Maximum number of parts"),
)
_PART_HEADERS = tuple(
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
_HELD_HEADERS: Json = {
    PARTS: {"schema": TEXT, "description": "Numbers of the stored parts, such as 0-12,14"},
    COUNT: {"schema": {"type": "integer"}, "description": "Number of stored parts"},
    BYTES: {"schema": {"type": "integer"}, "description": "Total size of the stored parts in bytes"},
    COMPLETE: {"schema": {"type": "integer"}, "description": "Number of parts of the table, once it is complete"},
}
_DIGEST = re.compile(r"sha-256=:([A-Za-z0-9+/]{43}=):")
_DICTIONARY = re.compile(r"[a-z*][a-z0-9_.*-]*=:[A-Za-z0-9+/=]*:(;.*)?")
_MAX_FILE_BYTES = 4096


class Tables(Protocol):
    """Tables that receive parts: those of jobs, or those of kept datasets. `name` is that of the job or dataset."""

    def put_part(self, owner: str, name: str, table: str, seq: int, part: PartBody, /) -> bool: ...
    def held(self, owner: str, name: str, table: str, /) -> Held: ...
    def parts(self, owner: str, name: str, table: str, first: int, limit: int, /) -> PartsBody: ...
    def complete(self, owner: str, name: str, table: str, parts: int, /) -> bool: ...


@dataclass(frozen=True)
class TableKind:
    """`of` is the parameter of the path that names the job or dataset. The operations are given by name and summary.
    `problems` are those of requests that read."""

    of: str
    path: str
    tables: Callable[[Service], Tables]
    held: tuple[str, str]
    complete: tuple[str, str]
    parts: tuple[str, str]
    put: tuple[str, str]
    references: bool = False
    """Whether a part may refer to a file."""
    problems: tuple[int, ...] = ()


JOB_TABLES = TableKind(
    "job",
    "/v1/jobs/{job}/tables/{table}",
    lambda on: on.jobs.uploads,
    ("held", "List the stored parts of a table"),
    ("completeTable", "Complete a table with its number of parts (idempotent)"),
    ("parts", "List the stored parts of a table with digests of their content, also after the job has ended"),
    (
        "putPart",
        "Upload a part of a table (idempotent). Different content under the same number is a 409, also after the job "
        "has ended",
    ),
    references=True,
    problems=(409,),
)
KEPT_TABLES = TableKind(
    "dataset",
    "/v1/datasets/{dataset}/tables/{table}",
    lambda on: on.kept,
    ("keptHeld", "List the stored parts of a table of a kept dataset"),
    (
        "completeKeptTable",
        "Complete a table with its number of parts (idempotent). A higher number than before is a new version",
    ),
    ("keptParts", "List the stored parts of a table with digests of their content"),
    ("putKeptPart", "Upload a part of a table (idempotent). Different content under the same number is a 409"),
)


class PartRoutes:
    def __init__(
        self, settings: GatewaySettings, pool: Pool[Service], access: Access, metrics: Metrics, traces: Traces | None
    ) -> None:
        self.body_budget = BodyBudget(settings.room_bytes)
        pace = Pace(settings.silence_s, settings.body_bytes_per_s)
        self._limit = BodyLimit(settings.limits.part_bytes, pace, "part-too-large")
        self._pool = pool
        self._access = access
        self._metrics = metrics
        self._traces = traces

    def operations(self) -> list[Operation]:
        return [*self._operations(JOB_TABLES), *self._operations(KEPT_TABLES)]

    def _operations(self, kind: TableKind) -> list[Operation]:
        return [
            Operation(
                "GET",
                kind.path,
                *kind.held,
                partial(self._held, kind),
                Held,
                "Ranges of part numbers, both ends included; also as headers",
                headers=_HELD_HEADERS,
                problems=kind.problems,
                head=True,
            ),
            Operation(
                "POST",
                kind.path + "/complete",
                *kind.complete,
                partial(self._complete, kind),
                CompleteAnswer,
                "The table is complete",
                body=CompleteBody,
                problems=(409, 413, 415),
            ),
            Operation(
                "GET",
                kind.path + "/parts",
                *kind.parts,
                partial(self._parts, kind),
                PartsBody,
                "Ordered by part number",
                parameters=_RECEIPT_PAGE,
                problems=kind.problems,
            ),
            Operation(
                "PUT",
                kind.path + "/parts/{seq}",
                *kind.put,
                partial(self._put_part, kind),
                PartAnswer,
                "The same part was stored before",
                created="The part is stored",
                parameters=_PART_HEADERS,
                body=dict.fromkeys((*media_types(), *[REFERENCE][: kind.references]), BINARY),
                problems=(409, 413, 415),
            ),
        ]

    async def _put_part(self, kind: TableKind, request: Request, owner: str) -> Response:
        name, table, about = _names(kind, request, owner)
        seq = number(request.path_params["seq"], "part number")
        described = part_of_headers(request.headers)
        started_at = time.time()
        with self.body_budget.body(owner) as body:
            pieces = await exchange_of(request).read_pieces(request, self._limit, body)
            size = sum(map(len, pieces))
            # The token may have been removed while the body arrived.
            self._access.admit(request)

            def put(on: Service) -> bool:
                data = b"".join(pieces)
                # Freed as soon as possible: the budget counts a body once.
                pieces.clear()
                return kind.tables(on).put_part(owner, name, table, seq, replace(described, data=data))

            # A body of a few kilobytes may decompress to many megabytes.
            new = await self._pool.run_heavy(put, about, owner)
        self._metrics.parts.labels("new" if new else "held").inc()
        if new and self._traces is not None and kind is JOB_TABLES:
            self._traces.received(PartName(about, table, seq), started_at, time.time(), size)
        return json_response(PartAnswer(seq, new), 201 if new else 200)

    async def _held(self, kind: TableKind, request: Request, owner: str) -> Response:
        name, table, about = _names(kind, request, owner)
        return _held_response(await self._pool.run(lambda on: kind.tables(on).held(owner, name, table), about))

    async def _parts(self, kind: TableKind, request: Request, owner: str) -> Response:
        name, table, about = _names(kind, request, owner)
        first = number(request.query_params.get("from", "0"), "from")
        limit = number(request.query_params.get("limit", str(MAX_RECEIPTS)), "limit", MAX_RECEIPTS, least=1)
        found = await self._pool.run(lambda on: kind.tables(on).parts(owner, name, table, first, limit), about)
        return json_response(found)

    async def _complete(self, kind: TableKind, request: Request, owner: str) -> Response:
        name, table, about = _names(kind, request, owner)
        parts = (await read_json(request, CompleteBody)).parts
        new = await self._pool.run(lambda on: kind.tables(on).complete(owner, name, table, parts), about)
        return json_response(CompleteAnswer(table, parts, new))


def _names(kind: TableKind, request: Request, owner: str) -> tuple[str, str, str]:
    """The job or dataset, its table, and the thread of the pool that probably has it cached."""
    name = request.path_params[kind.of]
    return name, request.path_params["table"], f"{owner}{'.' if kind is JOB_TABLES else '/'}{name}"


def _held_response(held: Held) -> Response:
    headers = {PARTS: _ranges_text(held), COUNT: str(held.count), BYTES: str(held.bytes)}
    if held.complete is not None:
        headers[COMPLETE] = str(held.complete)
    return json_response(held, headers=headers)


def _ranges_text(held: Held) -> str:
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


def part_of_headers(headers: Mapping[str, str]) -> PartBody:
    """The part that the headers of a request describe, without its bytes: an invalid one is refused before they are
    read."""
    form = _form(headers.get("content-type", ""))
    return PartBody(
        b"",
        form,
        _compression(headers.get("content-encoding", ""), form),
        _file(headers.get(FILE.lower(), "")),
        _first_line(headers.get(FIRST_LINE.lower())),
        _columns(headers.get(COLUMNS.lower()), form),
        _digest(headers.get(CONTENT_DIGEST.lower())),
    )


def _form(content_type: str) -> str:
    media, *parameters = (each.strip().lower() for each in content_type.split(";"))
    accepted = [*media_types(), REFERENCE]
    if media not in accepted:
        raise UnsupportedFormat(f"unsupported Content-Type {media[:80]!r}; expected one of {', '.join(accepted)}")
    for each in parameters:
        name, _, value = each.partition("=")
        if name.strip() == "charset" and value.strip('" ') not in ("utf-8", "utf8", "us-ascii"):
            raise UnsupportedFormat("the text of a part must be UTF-8; convert it before sending it")
    return REFERENCE_FORM if media == REFERENCE else format_sent_as(media).name


def _compression(encoding: str, form: str) -> Compression:
    named = encoding.strip().lower()
    if named not in COMPRESSIONS:
        raise UnsupportedFormat(f"unsupported Content-Encoding {named[:80]!r}; expected gzip or zstd")
    compression = COMPRESSIONS[named]
    if compression and (form == REFERENCE_FORM or not format_named(form).compressible):
        raise UnsupportedFormat("Content-Encoding is only allowed for text; send other forms without it")
    return compression


def _file(quoted: str) -> str:
    if len(quoted) > _MAX_FILE_BYTES:
        raise bad_request(f"{FILE} must be at most {_MAX_FILE_BYTES:,} bytes long")
    name = _text(quoted, FILE)
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in name):
        raise bad_request(f"{FILE} contains control characters; send only the name of the file")
    return name


def _first_line(text: str | None) -> int:
    return 0 if text is None else number(text, FIRST_LINE)


def _columns(quoted: str | None, form: str) -> tuple[str, ...] | None:
    if quoted is None:
        return None
    if form == REFERENCE_FORM or not format_named(form).has_header_line:
        raise bad_request(f"{COLUMNS} is only allowed for CSV without a header line; leave it out")
    try:
        return msgspec.json.decode(_text(quoted, COLUMNS), type=tuple[str, ...])
    except (msgspec.MsgspecError, RecursionError):
        raise bad_request(f"{COLUMNS} must be a JSON array of strings, percent-encoded") from None


def _text(quoted: str, name: str) -> str:
    try:
        return unquote_to_bytes(quoted).decode()
    except UnicodeDecodeError:
        raise bad_request(f"{name} is not valid UTF-8 after percent-decoding") from None


def _digest(text: str | None) -> str | None:
    """The SHA-256 in hex of a Content-Digest (RFC 9530); other digest algorithms are ignored."""
    if text is None:
        return None
    found = None
    for member in (each.strip() for each in text.split(",")):
        match = _DIGEST.fullmatch(member)
        if match is None:
            if member.startswith("sha-256=") or not _DICTIONARY.fullmatch(member):
                raise bad_request(f"{CONTENT_DIGEST} must be sha-256=:BASE64: of the body as sent")
            continue
        try:
            found = base64.b64decode(match[1], validate=True).hex()
        except binascii.Error:
            raise bad_request(f"{CONTENT_DIGEST} must be sha-256=:BASE64: of the body as sent") from None
    return found
