"""Errors as HTTP says them: `application/problem+json` (RFC 9457) with a stable code."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec
from starlette.responses import Response

from cauce.errors import CauceError, FabricError, UsageError
from cauce.gateway.errors import ServiceError
from cauce.wire.http import PROBLEM, RETRY_AFTER

AGAIN_S = 1.0
"""When to try again what the fabric could not do now."""


class Problem(msgspec.Struct, frozen=True):
    type: str
    title: str
    status: int
    code: str
    detail: str


class HttpError(CauceError):
    """A request that HTTP itself has the words for: too large, not acceptable, unauthorized, …"""

    def __init__(self, status: int, code: str, said: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(said)
        self.status = status
        self.code = code
        self.headers = dict(headers or {})


def bad_request(said: str) -> HttpError:
    return HttpError(400, "bad-request", said)


def stopping() -> HttpError:
    return HttpError(
        503,
        "unavailable",
        "this gateway is stopping: send the same request again, here in a moment or to another gateway",
        {RETRY_AFTER: "1"},
    )


def body_of(status: int, code: str, detail: str) -> bytes:
    title = code.replace("-", " ").capitalize()
    return msgspec.json.encode(Problem(f"urn:cauce:problem:{code}", title, status, code, detail))


def problem(status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    # A sentence may quote what a client sent, and that need not be text.
    printable = detail.encode("utf-8", "backslashreplace").decode()
    return Response(body_of(status, code, printable), status, headers, PROBLEM)


def told(error: CauceError) -> Response | None:
    """What a client is told of an error; None for one that no client can have caused."""
    match error:
        case HttpError():
            return problem(error.status, error.code, str(error), error.headers)
        case ServiceError():
            return problem(error.status, error.code, str(error), _later(error.retry_after))
        case FabricError():
            return problem(503, "unavailable", f"{error}", _later(AGAIN_S))
        case UsageError():
            return problem(422, "bad-request", str(error))
        case _:
            return None


def internal(reference: str) -> Response:
    said = f"something went wrong here that should not; the gateway's log has it under {reference}"
    return problem(500, "internal", said)


def _later(seconds: float | None) -> dict[str, str]:
    return {} if seconds is None else {RETRY_AFTER: str(math.ceil(seconds))}
