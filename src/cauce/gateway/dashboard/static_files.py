"""Serves the dashboard's static files. They contain no user data and need no token."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from cauce.gateway.asgi.operations import TEXT, Operation
from cauce.gateway.asgi.problems import HttpError
from cauce.gateway.dashboard.web.assets import Asset, assets

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
"""The page may load and run only files of this service."""


async def shell(request: Request, owner: str) -> Response:
    return _response(request, assets().shell, ASK_AGAIN)


async def file(request: Request, owner: str) -> Response:
    held = assets()
    found = held.files.get(request.path_params["file"])
    if found is None:
        raise HttpError(404, "not-found", "this file of the dashboard does not exist; reload the page")
    # A page of an earlier version gets the current file, but must not cache it.
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


def operations() -> list[Operation]:
    media = ("text/css", "text/javascript", "image/svg+xml")
    return [
        Operation(
            "GET",
            "/",
            "dashboard",
            "The dashboard",
            shell,
            {"text/html": TEXT},
            "HTML",
            public=True,
            head=True,
            cached=True,
        ),
        Operation(
            "GET",
            "/assets/{version}/{file}",
            "asset",
            "A file of the dashboard",
            file,
            dict.fromkeys(media, TEXT),
            "The file",
            problems=(404,),
            public=True,
            head=True,
            cached=True,
        ),
    ]
