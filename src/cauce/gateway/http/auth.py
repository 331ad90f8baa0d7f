"""Authentication: maps the token of a request to its owner, or to the local owner if no token is required. Rejects
cross-site requests of browsers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from cauce.api.http import AUTHORIZATION, EVENT_STREAM
from cauce.api.names import LOCAL, is_loopback
from cauce.errors import UsageError
from cauce.gateway.asgi.application import Endpoint, exchange_of
from cauce.gateway.asgi.operations import Handler
from cauce.gateway.asgi.problems import HttpError
from cauce.gateway.tokens import Tokens

CHECK_S = 1.0
"""Interval at which the token of a long response is checked again."""

_SAFE = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))
_FORWARDING = frozenset(("forwarded", "via", "x-real-ip", "front-end-https", "x-cloud-trace-context"))
_FORWARDING_PREFIXES = (
    "x-forwarded",
    "x-original-",
    "cf-",
    "fastly-",
    "fly-",
    "x-amz",
    "x-appengine-",
    "x-arr-",
    "x-azure-",
    "x-envoy-",
    "x-proxyuser-",
)
_FORWARDING_SUFFIXES = ("client-ip", "clientip")
"""Headers that reverse proxies, load balancers and content delivery networks add."""

Outcome = TypeVar("Outcome")


@dataclass(frozen=True)
class Admission:
    """An authenticated request: its owner, and whether its token is still valid."""

    owner: str
    token: str
    tokens: Tokens

    @property
    def valid(self) -> bool:
        return not self.token or _owner_of(self.tokens, self.token) == self.owner


class Access:
    def __init__(self, tokens: Tokens, *, needs_token: bool) -> None:
        self._tokens = tokens
        self._needs_token = needs_token

    def admit(self, request: Request) -> Admission:
        """Authenticates a request. Raises 401 if its owner is unknown, and 403 if it is cross-site."""
        _reject_cross_site(request)
        values = request.headers.getlist(AUTHORIZATION)
        if not values:
            self._check_without_token(request)
            return Admission(LOCAL, "", self._tokens)
        scheme, _, credentials = values[0].strip().partition(" ")
        token = credentials.strip()
        owner = _owner_of(self._tokens, token) if len(values) == 1 and scheme.lower() == "bearer" else None
        if owner is None:
            raise unknown_token()
        return Admission(owner, token, self._tokens)

    def _check_without_token(self, request: Request) -> None:
        if self._needs_token:
            raise _unauthorized(
                "this service needs a token: set CAUCE_TOKEN or CAUCE_TOKEN_FILE (over HTTP, as in `Authorization: "
                "Bearer TOKEN`); its operator makes them with `cauce token create NAME --dir FOLDER`"
            )
        forwarded = _forwarding_header(request)
        if forwarded is not None:
            # The proxy runs on this machine, but its client may be anywhere.
            raise _unauthorized(
                f"this request came through a proxy (it has the header {forwarded}), and such requests need a token: "
                "set CAUCE_TOKEN or CAUCE_TOKEN_FILE (over HTTP, as in `Authorization: Bearer TOKEN`)"
            )
        host = _host(request)
        if host and not is_loopback(host):
            # DNS rebinding: a web page may reach this address under its own host name.
            raise _unauthorized("without a token, this gateway must be addressed as localhost or 127.0.0.1")

    def guard(self, handler: Handler) -> Endpoint:
        """Authenticates each request. The response to a GET ends early if its token is removed meanwhile."""

        async def endpoint(request: Request) -> Response:
            admission = self.admit(request)
            owner = admission.owner
            exchange = exchange_of(request)
            exchange.admit(owner)
            if request.method != "GET":
                return await handler(request, owner)
            response = await _while_valid(handler(request, owner), admission)
            if isinstance(response, StreamingResponse):
                guarded = _chunks_while_valid
                if response.headers["content-type"] == EVENT_STREAM:
                    exchange.become_stream()
                    guarded = _events_while_valid
                response.body_iterator = guarded(response.body_iterator, admission)
            return response

        return endpoint


async def _while_valid(response: Awaitable[Outcome], admission: Admission) -> Outcome:
    """Awaits a response. Raises 401 if its token is removed in the meantime."""
    if not admission.token:
        return await response
    task = asyncio.ensure_future(response)
    try:
        while not task.done() and admission.valid:
            await asyncio.wait((task,), timeout=CHECK_S)
        if not admission.valid:
            raise unknown_token()
        return task.result()
    finally:
        task.cancel()


async def _chunks_while_valid(chunks: AsyncIterable[Outcome], admission: Admission) -> AsyncIterator[Outcome]:
    """The chunks of a response. Raises 401 soon after its token is removed, so that the client sees an aborted response
    and not a complete one."""
    source = aiter(chunks)
    with suppress(StopAsyncIteration):
        while True:
            yield await _while_valid(anext(source), admission)


async def _events_while_valid(chunks: AsyncIterable[Outcome], admission: Admission) -> AsyncIterator[Outcome]:
    """The chunks of an event stream. The stream ends soon after its token is removed."""
    with suppress(HttpError):
        async for chunk in _chunks_while_valid(chunks, admission):
            yield chunk


def _owner_of(tokens: Tokens, token: str) -> str | None:
    try:
        return tokens.owner(token)
    except (UsageError, OSError):
        # The operator sees a damaged token file at startup; here the request is only rejected.
        return None


def _reject_cross_site(request: Request) -> None:
    """Raises 403 for a cross-site request that changes something. Browsers send Sec-Fetch-Site, older ones only Origin;
    other programs send neither. Safe methods are allowed: the other page cannot read the response."""
    if request.method in _SAFE:
        return
    site = request.headers.get("sec-fetch-site")
    if site in ("same-origin", "none"):
        return
    origin = request.headers.get("origin")
    if site is None and (origin is None or urlsplit(origin).netloc == request.headers.get("host")):
        return
    raise HttpError(
        403, "cross-site", "this request was made by the page of another site: use the page of this service"
    )


def _forwarding_header(request: Request) -> str | None:
    """The first header that only proxies add, or None."""
    names = (name.lower() for name in request.headers.keys())  # noqa: SIM118  (a multidict: names may repeat)
    return next(filter(_is_forwarding, names), None)


def _is_forwarding(name: str) -> bool:
    return name in _FORWARDING or name.startswith(_FORWARDING_PREFIXES) or name.endswith(_FORWARDING_SUFFIXES)


def _host(request: Request) -> str:
    """The Host header without its port."""
    host = request.headers.get("host", "").strip()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if ":" in host else host


def unknown_token() -> HttpError:
    return _unauthorized(
        "this service does not know the token that was sent: check it, or ask the operator for another"
    )


def _unauthorized(message: str) -> HttpError:
    return HttpError(401, "unauthorized", message, {"WWW-Authenticate": 'Bearer realm="cauce"'})
