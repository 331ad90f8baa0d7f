"""Error responses: `application/problem+json` (RFC 9457) with a stable code."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec
from starlette.responses import Response

from cauce.api.http import PROBLEM, RETRY_AFTER
from cauce.api.problems import Problem
from cauce.errors import CauceError, FabricError, FabricFull, SqlError, UsageError
from cauce.gateway.errors import ServiceError
from cauce.gateway.public_text import without_folders

FABRIC_RETRY_S = 1.0
FULL_RETRY_S = 10.0
"""Retry-After for errors of the fabric, and for a fabric without space."""


class HttpError(CauceError):
    """An error of the HTTP layer itself: too large, not acceptable, unauthorized, …"""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = dict(headers or {})


def bad_request(message: str) -> HttpError:
    return HttpError(400, "bad-request", message)


def stopping() -> HttpError:
    return HttpError(
        503,
        "unavailable",
        "this gateway is stopping: send the same request again, here in a moment or to another gateway",
        {RETRY_AFTER: "1"},
    )


def body_of(status: int, code: str, detail: str, place: tuple[int, int] | None = None) -> bytes:
    title = code.replace("-", " ").capitalize()
    return msgspec.json.encode(Problem(f"urn:cauce:problem:{code}", title, status, code, detail, *(place or ())))


def problem(
    status: int,
    code: str,
    detail: str,
    headers: Mapping[str, str] | None = None,
    place: tuple[int, int] | None = None,
) -> Response:
    """`place` is the line and column of an error in a text."""
    # The detail may quote client input that is not valid Unicode.
    printable = without_folders(detail.encode("utf-8", "backslashreplace").decode())
    return Response(body_of(status, code, printable, place), status, headers, PROBLEM)


def problem_response(error: CauceError) -> Response | None:
    """The response for an error; None for an internal error, whose text clients must not see."""
    match error:
        case HttpError():
            return problem(error.status, error.code, str(error), error.headers)
        case ServiceError():
            return problem(error.status, error.code, str(error), _retry_after(error.retry_after))
        case FabricFull():
            return problem(503, "unavailable", f"the service has no space left: {error}", _retry_after(FULL_RETRY_S))
        case FabricError():
            detail = f"the storage of the service is unavailable: {error}"
            return problem(503, "unavailable", detail, _retry_after(FABRIC_RETRY_S))
        case SqlError():
            return problem(422, error.code, str(error), place=(error.line, error.column))
        case UsageError():
            return problem(422, "bad-request", str(error))
        case _:
            return None


def internal(reference: str) -> Response:
    return problem(
        500, "internal", f"internal error; the log of the gateway has the details under reference {reference}"
    )


def _retry_after(seconds: float | None) -> dict[str, str]:
    return {} if seconds is None else {RETRY_AFTER: str(math.ceil(seconds))}
