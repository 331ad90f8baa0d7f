"""Serves the dashboard's files. They hold nothing of anybody's: no token is needed to get them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from cauce.gateway.describing import Json, in_path, operation
from cauce.gateway.problems import HttpError
from cauce.web.assets import Asset, assets

FOR_EVER = "public, max-age=31536000, immutable"
ASK_AGAIN = "no-cache"
GUARDS = {
    "content-security-policy": (
        "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
"""What the page may do: run and load what this service serves, and nothing else."""


async def shell(request: Request) -> Response:
    return _response(request, assets().shell, ASK_AGAIN)


async def file(request: Request) -> Response:
    held = assets()
    found = held.files.get(request.path_params["name"])
    if found is None:
        raise HttpError(404, "not-found", "the dashboard has no such file; load the page again")
    # A page of an earlier version gets what there is now, and is not to keep it.
    current = request.path_params["version"] == held.version
    return _response(request, found, FOR_EVER if current else ASK_AGAIN)


def _response(request: Request, asset: Asset, keep: str) -> Response:
    headers = {"etag": asset.etag, "cache-control": keep, "vary": "Accept-Encoding", **GUARDS}
    if asset.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    data = asset.data
    if "gzip" in request.headers.get("accept-encoding", ""):
        data = asset.packed
        headers["content-encoding"] = "gzip"
    return Response(data, headers={**headers, "content-type": asset.media_type})


def table() -> dict[str, dict[str, Callable[[Request], Awaitable[Response]]]]:
    return {
        "/": {"GET": shell, "HEAD": shell},
        "/assets/{version}/{name}": {"GET": file, "HEAD": file},
    }


def described() -> dict[str, Json]:
    same: dict[str, Json] = {"304": {"description": "As the caller has it"}}
    page = {"200": {"description": "HTML", "content": {"text/html": {"schema": {"type": "string"}}}}, **same}
    media = {name: {"schema": {"type": "string"}} for name in ("text/css", "text/javascript", "image/svg+xml")}
    one = {"200": {"description": "The file", "content": media}, **same}
    headless = {"200": {"description": "It is there"}, **same}
    names = [
        in_path("version", {"type": "string", "minLength": 1, "maxLength": 64}, "Of all files together"),
        in_path("name", {"type": "string", "minLength": 1, "maxLength": 64}, "The file's name"),
    ]
    return {
        "/": {
            "get": operation("dashboard", "The dashboard", page, owned=False),
            "head": operation("dashboardHead", "The dashboard", headless, owned=False),
        },
        "/assets/{version}/{name}": {
            "get": operation("asset", "A file of the dashboard", one, parameters=names, problems=(404,), owned=False),
            "head": operation(
                "assetHead", "A file of the dashboard", headless, parameters=names, problems=(404,), owned=False
            ),
        },
    }
