"""Pieces that the description of the service is put together from: parameters, answers, problems, operations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cauce.gateway.problems import Problem
from cauce.wire.http import JSON, PROBLEM, RETRY_AFTER

Json = dict[str, Any]

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


def ref(shape: type) -> Json:
    return {"$ref": f"#/components/schemas/{shape.__name__}"}


def in_path(name: str, schema: Json, said: str) -> Json:
    return {"name": name, "in": "path", "required": True, "schema": schema, "description": said}


JOB = in_path("job", {"type": "string", "pattern": _JOB_ID}, "The job's id, chosen by the client")
TABLE = in_path("table", {"type": "string", "minLength": 1, "maxLength": 100}, "A table of the job's dataset")
QUERY = in_path("query", {"type": "string", "minLength": 1, "maxLength": 100}, "One of the job's queries")
SEQ = in_path("seq", {"type": "integer", "minimum": 0}, "The part's number, from 0 on")

PAGING = [
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


def form_parameter(forms: list[str]) -> Json:
    return {
        "name": "format",
        "in": "query",
        "schema": {"type": "string", "enum": forms},
        "description": "The whole in this form, as a file to be saved; without it `Accept` decides",
    }


def json_of(shape: type, said: str) -> Json:
    return {"description": said, "content": {JSON: {"schema": ref(shape)}}}


def _problems(codes: Iterable[int]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for code in sorted(set(codes)):
        found[str(code)] = {"description": _PROBLEMS[code], "content": {PROBLEM: {"schema": ref(Problem)}}}
        if code in _AGAIN:
            found[str(code)]["headers"] = {
                RETRY_AFTER: {"schema": {"type": "integer"}, "description": "Seconds after which to try again"}
            }
    return found


def operation(
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


def body_of(shape: type) -> Json:
    return {"required": True, "content": {JSON: {"schema": ref(shape)}}}
