"""Operations of the HTTP API, each declared once. The router and the OpenAPI 3.1 document are made from one list."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from cauce import __version__
from cauce.api.http import EVENT_STREAM, JSON, PROBLEM, RETRY_AFTER
from cauce.api.names import JOB_ID
from cauce.api.problems import Problem

Json = dict[str, Any]
Handler = Callable[[Request, str], Awaitable[Response]]
"""Answers a request of an owner. The owner is empty for a public operation."""

TEXT: Json = {"type": "string"}
BINARY: Json = {"type": "string", "format": "binary"}
STREAM: Json = {EVENT_STREAM: TEXT}

_PROBLEMS = {
    400: "The request is malformed",
    401: "The token is missing or unknown",
    403: "The request was made by a page of another site, or a quota of the owner is reached",
    404: "The job, dataset, table, query or path does not exist, or belongs to another owner",
    405: "The method is not allowed",
    406: "None of the accepted media types is available",
    408: "The request did not arrive in time",
    409: "The request conflicts with stored data: different content, a different number, a job that has ended, or a "
    "dataset that jobs read",
    413: "The body is too large",
    414: "The URL is too long",
    415: "The media type or encoding is not supported",
    422: "The request is well-formed, but a value is invalid",
    425: "The result is not complete yet",
    429: "A limit is reached: retry in a moment",
    431: "The headers are too large",
    500: "Internal error of the service",
    503: "The fabric is unavailable, or the gateway is stopping",
}
_RETRYABLE = (425, 429, 503)
_EVERYWHERE = (400, 405, 408, 414, 429, 431, 500, 503)
_OWNED = (401, 403, 404, 422)


def parameter(name: str, schema: Json, description: str, place: str = "query") -> Json:
    required = {"required": True} if place == "path" else {}
    return {"name": name, "in": place, **required, "schema": schema, "description": description}


ALL_OWNERS = parameter(
    "all_owners",
    {"type": "boolean", "default": False},
    "Also the jobs of other owners, for the operator: a caller on the machine of the service without a token. Changes "
    "nothing for callers with a token",
)


def whole_number(least: int, most: int | None = None, default: int | None = None) -> Json:
    limits = {"minimum": least, "maximum": most, "default": default}
    return {"type": "integer", **{name: value for name, value in limits.items() if value is not None}}


def short_text(most: int) -> Json:
    return {"type": "string", "minLength": 1, "maxLength": most}


_IN_PATH = {
    name: parameter(name, schema, description, "path")
    for name, schema, description in (
        ("job", {"type": "string", "pattern": f"^{JOB_ID}$"}, "The job id, chosen by the client"),
        ("dataset", {"type": "string", "pattern": f"^{JOB_ID}$"}, "The name of a kept dataset, chosen by the client"),
        ("table", short_text(100), "A table of the dataset"),
        ("query", short_text(100), "A query of the job"),
        ("seq", whole_number(0), "The part number, starting at 0"),
        ("stage", whole_number(0), "The number of a stage of the plan, starting at 0"),
        ("process", short_text(80), "A process, such as worker-1"),
        ("version", short_text(64), "Digest of all files"),
        ("file", short_text(64), "The name of the file"),
    )
}


def ref(message: type) -> Json:
    return {"$ref": f"#/components/schemas/{message.__name__}"}


@dataclass(frozen=True)
class Operation:
    """`returns` and `body` are a message type, or schemas by media type. Parameters of the path need no declaration.
    `public`: without authentication. `head`: HEAD is allowed too, because the headers alone are useful."""

    method: str
    path: str
    name: str
    summary: str
    handler: Handler
    returns: type | Json
    description: str
    created: str = ""
    """The meaning of status 201, if the operation may return it."""
    parameters: tuple[Json, ...] = ()
    body: type | Json | None = None
    headers: Mapping[str, Json] = field(default_factory=dict)
    problems: tuple[int, ...] = ()
    public: bool = False
    head: bool = False
    cached: bool = False
    """Whether the response may be 304."""

    @property
    def methods(self) -> tuple[str, ...]:
        return (self.method, "HEAD") if self.head else (self.method,)

    @property
    def messages(self) -> list[type]:
        return [each for each in (self.returns, self.body) if isinstance(each, type)]

    def described(self, method: str) -> Json:
        in_path = [_IN_PATH[name] for name in re.findall(r"{(\w+)}", self.path)]
        found: Json = {
            "operationId": self.name + "Head" * (method == "HEAD"),
            "summary": self.summary,
            "responses": self._responses(method),
        }
        if in_path or self.parameters:
            found["parameters"] = [*in_path, *self.parameters]
        if self.body is not None:
            found["requestBody"] = {"required": True, "content": _content(self.body)}
        if not self.public:
            found["security"] = [{"token": []}, {}]
        return found

    def _responses(self, method: str) -> Json:
        given: Json = {"headers": dict(self.headers)} if self.headers else {}
        if method != "HEAD":
            given["content"] = _content(self.returns)
        found = {"200": {"description": self.description, **given}}
        if self.created:
            found["201"] = {"description": self.created, **given}
        if self.cached:
            found["304"] = {"description": "Not modified"}
        return found | _problems((*_EVERYWHERE, *(() if self.public else _OWNED), *self.problems))


def _content(shape: type | Json) -> Json:
    schemas = {JSON: ref(shape)} if isinstance(shape, type) else shape
    return {media: {"schema": schema} for media, schema in schemas.items()}


def _problems(codes: Iterable[int]) -> Json:
    found: Json = {}
    for code in sorted(set(codes)):
        found[str(code)] = {"description": _PROBLEMS[code], "content": {PROBLEM: {"schema": ref(Problem)}}}
        if code in _RETRYABLE:
            found[str(code)]["headers"] = {
                RETRY_AFTER: {"schema": {"type": "integer"}, "description": "Seconds to wait before a retry"}
            }
    return found


def describe(operations: Iterable[Operation], *more: type) -> Json:
    """The OpenAPI document. `more`: messages that are mentioned only in descriptions or unions."""
    paths: dict[str, Json] = {}
    messages: dict[type, None] = dict.fromkeys((Problem, *more))
    for each in operations:
        messages |= dict.fromkeys(each.messages)
        paths.setdefault(each.path, {}).update({method.lower(): each.described(method) for method in each.methods})
    _, components = msgspec.json.schema_components(messages, ref_template="#/components/schemas/{name}")
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Cauce",
            "version": __version__,
            "summary": "Answers queries over datasets that clients upload, exactly once",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Required if the gateway listens on a non-loopback address",
                }
            },
        },
    }
