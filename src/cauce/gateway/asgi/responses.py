"""Successful responses with a JSON body, or with a stream of events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import msgspec
from starlette.responses import Response, StreamingResponse

from cauce.api.http import EVENT_STREAM, JSON


def json_response(content: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(content), status, headers, JSON)


def event_stream(events: AsyncIterator[bytes]) -> StreamingResponse:
    headers = {"content-type": EVENT_STREAM, "cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(events, headers=headers)
