"""The service described for machines (OpenAPI 3.1): every path, parameter, answer and shape."""

from __future__ import annotations

import msgspec

from cauce import __version__
from cauce.gateway import cluster, cluster_live, dashboard, showing
from cauce.gateway.describing import (
    JOB,
    PAGING,
    QUERY,
    SEQ,
    TABLE,
    Json,
    body_of,
    form_parameter,
    json_of,
    operation,
    ref,
)
from cauce.gateway.downloads import PageBody
from cauce.gateway.model import Held, JobRequest, JobStatus, PartsBody
from cauce.gateway.problems import Problem
from cauce.wire import FORMATS
from cauce.wire.http import (
    ARROW_FILE,
    BYTES,
    COLUMNS,
    COMPLETE,
    CONTENT_DIGEST,
    COUNT,
    CSV,
    FILE,
    FIRST_LINE,
    JSON,
    PARQUET,
    PART_FORMS,
    PARTS,
)


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


class AliveBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """`notice` says that no worker runs, where that is so: jobs are taken, and wait."""

    status: str
    notice: str = ""


_SHAPES = (
    JobRequest,
    JobStatus,
    JobsBody,
    Held,
    PartsBody,
    PageBody,
    CompleteBody,
    CompleteAnswer,
    PartAnswer,
    WhyBody,
    AliveBody,
    Problem,
    *showing.SHAPES,
    *cluster.SHAPES,
    *cluster_live.SHAPES,
)

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


_RECEIPT_PAGING = [
    {
        "name": "from",
        "in": "query",
        "schema": {"type": "integer", "minimum": 0, "default": 0},
        "description": "Number of the first part to list: `next` of the page before",
    },
    {
        "name": "limit",
        "in": "query",
        "schema": {"type": "integer", "minimum": 1, "maximum": 10_000, "default": 10_000},
        "description": "How many parts at most",
    },
]

_BYTES = {"type": "string", "format": "binary"}


def _paths() -> dict[str, Json]:
    alive = {"200": json_of(AliveBody, "It is")}
    headless = {"200": {"description": "It is"}}
    whole = {media: {"schema": _BYTES} for media in (CSV, ARROW_FILE, PARQUET)}
    page_or_array = {"schema": {"oneOf": [ref(PageBody), {"type": "array", "items": {"type": "object"}}]}}
    part_body = {"required": True, "content": {media: {"schema": _BYTES} for media in PART_FORMS}}
    job, table = "/v1/jobs/{job}", "/v1/jobs/{job}/tables/{table}"
    return {
        "/healthz": {
            "get": operation("health", "Whether the gateway is alive", alive, owned=False),
            "head": operation("healthHead", "Whether the gateway is alive", headless, owned=False),
        },
        "/readyz": {
            "get": operation("ready", "Whether the gateway and its fabric can be used", alive, owned=False),
            "head": operation("readyHead", "Whether the gateway and its fabric can be used", headless, owned=False),
        },
        "/metrics": {
            "get": operation(
                "metrics",
                "Numbers for Prometheus",
                {"200": {"description": "The numbers", "content": {"text/plain": {"schema": {"type": "string"}}}}},
                owned=False,
            )
        },
        "/openapi.json": {
            "get": operation(
                "describe",
                "This description",
                {"200": {"description": "It", "content": {JSON: {"schema": {"type": "object"}}}}},
                owned=False,
            )
        },
        "/v1/jobs": {"get": operation("listJobs", "The caller's jobs", {"200": json_of(JobsBody, "Oldest first")})},
        job: {
            "get": operation("jobStatus", "How a job stands", {"200": json_of(JobStatus, "So")}, parameters=[JOB]),
            "put": operation(
                "createJob",
                "Create a job; the same again changes nothing",
                {"201": json_of(JobStatus, "Created"), "200": json_of(JobStatus, "It is there already")},
                parameters=[JOB],
                body=body_of(JobRequest),
                problems=(409, 413, 415),
            ),
            "delete": operation(
                "cancelJob",
                "Cancel a job and release all it holds; again changes nothing",
                {"200": json_of(JobStatus, "How it ended")},
                parameters=[JOB],
                problems=(409,),
            ),
        },
        f"{job}/why": {
            "get": operation(
                "why",
                "What a job waits for, in one sentence",
                {"200": json_of(WhyBody, "The sentence")},
                parameters=[JOB],
            )
        },
        f"{job}/rejects": {
            "get": operation(
                "rejects",
                "Records that could not be read: a page as JSON, or all as CSV",
                {
                    "200": {
                        "description": "The rejects",
                        "content": {JSON: {"schema": ref(PageBody)}, CSV: {"schema": _BYTES}},
                    }
                },
                parameters=[JOB, *PAGING, form_parameter(["csv"])],
                problems=(406, 409, 425),
            )
        },
        f"{job}/results/{{query}}": {
            "get": operation(
                "results",
                "An answer: a page as JSON where `cursor`, `limit` or `wait` is given, else the whole",
                {"200": {"description": "Rows", "content": {JSON: page_or_array, **whole}}},
                parameters=[JOB, QUERY, *PAGING, form_parameter(list(FORMATS))],
                problems=(406, 409, 425),
            )
        },
        table: {
            "get": operation(
                "held",
                "Which parts of a table are held",
                {"200": {**json_of(Held, "Ranges of numbers, both ends included"), "headers": _HELD_HEADERS}},
                parameters=[JOB, TABLE],
                problems=(409,),
            ),
            "head": operation(
                "heldHead",
                "Which parts of a table are held, as headers",
                {"200": {"description": "See the headers", "headers": _HELD_HEADERS}},
                parameters=[JOB, TABLE],
                problems=(409,),
            ),
        },
        f"{table}/complete": {
            "post": operation(
                "completeTable",
                "Say how many parts a table has; the same again changes nothing",
                {"200": json_of(CompleteAnswer, "It is complete")},
                parameters=[JOB, TABLE],
                body=body_of(CompleteBody),
                problems=(409, 413, 415),
            )
        },
        f"{table}/parts": {
            "get": operation(
                "parts",
                "The parts of a table that are held, with digests of their content; also of a job that has ended",
                {"200": json_of(PartsBody, "In the order of their numbers")},
                parameters=[JOB, TABLE, *_RECEIPT_PAGING],
                problems=(409,),
            )
        },
        f"{table}/parts/{{seq}}": {
            "put": operation(
                "putPart",
                "Send a part of a table; the same again changes nothing, other content under its number is a 409, also "
                "after the job has ended",
                {"201": json_of(PartAnswer, "It is held now"), "200": json_of(PartAnswer, "It was held already")},
                parameters=[JOB, TABLE, SEQ, *_PART_HEADERS],
                body=part_body,
                problems=(409, 413, 415),
            )
        },
        **dashboard.described(),
        **showing.described(),
        **cluster.described(),
        **cluster_live.described(),
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
