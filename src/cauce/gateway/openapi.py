"""The service described for machines (OpenAPI 3.1): every path, parameter, answer and shape."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from cauce import __version__
from cauce.gateway.downloads import ARROW_FILE, PageBody
from cauce.gateway.model import Held, JobRequest, JobStatus
from cauce.gateway.problems import Problem
from cauce.wire.http import (
    BYTES,
    COLUMNS,
    COMPLETE,
    CONTENT_DIGEST,
    COUNT,
    CSV,
    EVENT_STREAM,
    FILE,
    FIRST_LINE,
    JSON,
    PARQUET,
    PART_FORMS,
    PARTS,
    PROBLEM,
    RETRY_AFTER,
)

Json = dict[str, Any]


class CompleteBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many parts the table has."""

    parts: int


class JobsBody(msgspec.Struct, frozen=True):
    jobs: list[JobStatus]


class WhyBody(msgspec.Struct, frozen=True):
    why: str


class PartAnswer(msgspec.Struct, frozen=True):
    """`new` is false where the same part was held already."""

    part: int
    new: bool


class CompleteAnswer(msgspec.Struct, frozen=True):
    table: str
    parts: int
    new: bool


class AliveBody(msgspec.Struct, frozen=True):
    status: str


_SHAPES = (
    JobRequest,
    JobStatus,
    JobsBody,
    Held,
    PageBody,
    CompleteBody,
    CompleteAnswer,
    PartAnswer,
    WhyBody,
    AliveBody,
    Problem,
)

_PROBLEMS = {
    400: "The request cannot be read",
    401: "No token, or one that opens nothing",
    404: "No such job, table, query or path; also where it is another owner's",
    405: "Not with this method",
    406: "In none of the forms that were accepted",
    408: "The request did not come in time",
    409: "It contradicts what is held: another content, another number, or a job that has ended",
    413: "The body is too large",
    414: "The address is too long",
    415: "Not in this format",
    422: "It can be read, but cannot be",
    425: "Not complete yet",
    429: "Too much at once: try again after a moment",
    431: "The headers are too large",
    500: "An error of the service",
    503: "The fabric cannot be used now, or the gateway is stopping",
}
_AGAIN = (425, 429, 503)
_EVERYWHERE = (400, 405, 408, 414, 429, 431, 500, 503)
_OWNED = (401, 404, 422)

_JOB_ID = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"


def _ref(shape: type) -> Json:
    return {"$ref": f"#/components/schemas/{shape.__name__}"}


def _in_path(name: str, schema: Json, said: str) -> Json:
    return {"name": name, "in": "path", "required": True, "schema": schema, "description": said}


_JOB = _in_path("job", {"type": "string", "pattern": _JOB_ID}, "The job's id, chosen by the client")
_TABLE = _in_path("table", {"type": "string", "minLength": 1, "maxLength": 100}, "A table of the job's dataset")
_QUERY = _in_path("query", {"type": "string", "minLength": 1, "maxLength": 100}, "One of the job's queries")
_SEQ = _in_path("seq", {"type": "integer", "minimum": 0}, "The part's number, from 0 on")

_PAGING = [
    {
        "name": "cursor",
        "in": "query",
        "schema": {"type": "string", "maxLength": 500},
        "description": "`next` of the page before",
    },
    {
        "name": "limit",
        "in": "query",
        "schema": {"type": "integer", "minimum": 1, "maximum": 100_000, "default": 10_000},
        "description": "How many rows at most",
    },
    {
        "name": "wait",
        "in": "query",
        "schema": {"type": "number", "minimum": 0, "maximum": 30, "default": 0},
        "description": "How many seconds to wait for rows, if there are none yet",
    },
]

_PART_HEADERS = [
    {
        "name": "Content-Encoding",
        "in": "header",
        "schema": {"type": "string", "enum": ["gzip", "zstd", "identity"]},
        "description": "For CSV and NDJSON",
    },
    {
        "name": CONTENT_DIGEST,
        "in": "header",
        "schema": {"type": "string", "pattern": "^sha-256=:[A-Za-z0-9+/]{43}=:$"},
        "description": "SHA-256 of the body as it is sent (RFC 9530)",
    },
    {
        "name": FILE,
        "in": "header",
        "schema": {"type": "string", "maxLength": 4096},
        "description": "Name of the file that the part is of, percent-encoded",
    },
    {
        "name": FIRST_LINE,
        "in": "header",
        "schema": {"type": "integer", "minimum": 0},
        "description": "Line of that file in which the part's data begin",
    },
    {
        "name": COLUMNS,
        "in": "header",
        "schema": {"type": "string"},
        "description": "Header cells of CSV without a header line: a JSON array of texts, percent-encoded",
    },
]

_HELD_HEADERS = {
    PARTS: {"schema": {"type": "string"}, "description": "Numbers of the parts that are held, as in 0-12,14"},
    COUNT: {"schema": {"type": "integer"}, "description": "How many parts are held"},
    BYTES: {"schema": {"type": "integer"}, "description": "Bytes of the parts that are held"},
    COMPLETE: {"schema": {"type": "integer"}, "description": "How many parts there are, once that was said"},
}


def _json(shape: type, said: str) -> Json:
    return {"description": said, "content": {JSON: {"schema": _ref(shape)}}}


def _problems(codes: Iterable[int]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for code in sorted(set(codes)):
        found[str(code)] = {"description": _PROBLEMS[code], "content": {PROBLEM: {"schema": _ref(Problem)}}}
        if code in _AGAIN:
            found[str(code)]["headers"] = {
                RETRY_AFTER: {"schema": {"type": "integer"}, "description": "Seconds after which to try again"}
            }
    return found


def _operation(
    name: str,
    said: str,
    answers: dict[str, Json],
    *,
    parameters: Iterable[Json] = (),
    body: Json | None = None,
    problems: Iterable[int] = (),
    owned: bool = True,
) -> Json:
    codes = [*_EVERYWHERE, *problems, *(_OWNED if owned else ())]
    made: Json = {"operationId": name, "summary": said, "responses": {**answers, **_problems(codes)}}
    if listed := list(parameters):
        made["parameters"] = listed
    if body is not None:
        made["requestBody"] = body
    if owned:
        made["security"] = [{"token": []}, {}]
    return made


def _body_of(shape: type) -> Json:
    return {"required": True, "content": {JSON: {"schema": _ref(shape)}}}


_BYTES = {"type": "string", "format": "binary"}


def _paths() -> dict[str, Json]:
    alive = {"200": _json(AliveBody, "It is")}
    headless = {"200": {"description": "It is"}}
    whole = {media: {"schema": _BYTES} for media in (CSV, ARROW_FILE, PARQUET)}
    page_or_array = {"schema": {"oneOf": [_ref(PageBody), {"type": "array", "items": {"type": "object"}}]}}
    part_body = {"required": True, "content": {media: {"schema": _BYTES} for media in PART_FORMS}}
    job, table = "/v1/jobs/{job}", "/v1/jobs/{job}/tables/{table}"
    return {
        "/healthz": {
            "get": _operation("health", "Whether the gateway is alive", alive, owned=False),
            "head": _operation("healthHead", "Whether the gateway is alive", headless, owned=False),
        },
        "/readyz": {
            "get": _operation("ready", "Whether the gateway and its fabric can be used", alive, owned=False),
            "head": _operation("readyHead", "Whether the gateway and its fabric can be used", headless, owned=False),
        },
        "/metrics": {
            "get": _operation(
                "metrics",
                "Numbers for Prometheus",
                {"200": {"description": "The numbers", "content": {"text/plain": {"schema": {"type": "string"}}}}},
                owned=False,
            )
        },
        "/openapi.json": {
            "get": _operation(
                "describe",
                "This description",
                {"200": {"description": "It", "content": {JSON: {"schema": {"type": "object"}}}}},
                owned=False,
            )
        },
        "/v1/jobs": {"get": _operation("listJobs", "The caller's jobs", {"200": _json(JobsBody, "Oldest first")})},
        job: {
            "get": _operation("jobStatus", "How a job stands", {"200": _json(JobStatus, "So")}, parameters=[_JOB]),
            "put": _operation(
                "createJob",
                "Create a job; the same again changes nothing",
                {"201": _json(JobStatus, "Created"), "200": _json(JobStatus, "It is there already")},
                parameters=[_JOB],
                body=_body_of(JobRequest),
                problems=(409, 413, 415),
            ),
            "delete": _operation(
                "cancelJob",
                "Cancel a job and release all it holds; again changes nothing",
                {"200": _json(JobStatus, "How it ended")},
                parameters=[_JOB],
                problems=(409,),
            ),
        },
        f"{job}/why": {
            "get": _operation(
                "why",
                "What a job waits for, in one sentence",
                {"200": _json(WhyBody, "The sentence")},
                parameters=[_JOB],
            )
        },
        f"{job}/events": {
            "get": _operation(
                "events",
                "How a job stands, whenever that changes, until it ends",
                {
                    "200": {
                        "description": "Events named `status`, each with a JobStatus as its data",
                        "content": {EVENT_STREAM: {"schema": {"type": "string"}}},
                    }
                },
                parameters=[_JOB],
                problems=(406,),
            )
        },
        f"{job}/rejects": {
            "get": _operation(
                "rejects",
                "Records that could not be read: a page as JSON, or all as CSV",
                {
                    "200": {
                        "description": "The rejects",
                        "content": {JSON: {"schema": _ref(PageBody)}, CSV: {"schema": _BYTES}},
                    }
                },
                parameters=[_JOB, *_PAGING],
                problems=(406, 409, 425),
            )
        },
        f"{job}/results/{{query}}": {
            "get": _operation(
                "results",
                "An answer: a page as JSON where `cursor`, `limit` or `wait` is given, else whole by `Accept`",
                {"200": {"description": "Rows", "content": {JSON: page_or_array, **whole}}},
                parameters=[_JOB, _QUERY, *_PAGING],
                problems=(406, 409, 425),
            )
        },
        table: {
            "get": _operation(
                "held",
                "Which parts of a table are held",
                {"200": {**_json(Held, "Ranges of numbers, both ends included"), "headers": _HELD_HEADERS}},
                parameters=[_JOB, _TABLE],
                problems=(409,),
            ),
            "head": _operation(
                "heldHead",
                "Which parts of a table are held, as headers",
                {"200": {"description": "See the headers", "headers": _HELD_HEADERS}},
                parameters=[_JOB, _TABLE],
                problems=(409,),
            ),
        },
        f"{table}/complete": {
            "post": _operation(
                "completeTable",
                "Say how many parts a table has; the same again changes nothing",
                {"200": _json(CompleteAnswer, "It is complete")},
                parameters=[_JOB, _TABLE],
                body=_body_of(CompleteBody),
                problems=(409, 413, 415),
            )
        },
        f"{table}/parts/{{seq}}": {
            "put": _operation(
                "putPart",
                "Send a part of a table; the same again changes nothing",
                {"201": _json(PartAnswer, "It is held now"), "200": _json(PartAnswer, "It was held already")},
                parameters=[_JOB, _TABLE, _SEQ, *_PART_HEADERS],
                body=part_body,
                problems=(409, 413, 415),
            )
        },
    }


def describe() -> Json:
    _, components = msgspec.json.schema_components(_SHAPES, ref_template="#/components/schemas/{name}")
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Cauce",
            "version": __version__,
            "summary": "Answers a catalogue of queries over datasets that clients stream in, exactly once",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": _paths(),
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Needed where the gateway listens beyond its own machine",
                }
            },
        },
    }
