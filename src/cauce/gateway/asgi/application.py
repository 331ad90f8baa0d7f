"""The ASGI application: counts each request against the limits of its owner, gives it to its handler, and turns every
error into a response. An unread request body never blocks the response, and a client that does not read its response
runs into a timeout."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Literal, TypeVar

import msgspec
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from cauce.api.http import EVENT_STREAM, JSON, RETRY_AFTER
from cauce.api.names import LOCAL
from cauce.errors import CauceError
from cauce.gateway.asgi.problems import HttpError, bad_request, internal, problem_response, stopping
from cauce.gateway.asgi.request_body import BodyLimit, IncomingBody
from cauce.gateway.metrics import Metrics
from cauce.gateway.settings import GatewaySettings
from cauce.process.telemetry.logs import Throttle

Kind = Literal["requests", "streams"]
Endpoint = Callable[[Request], Awaitable[Response]]
Decoded = TypeVar("Decoded")

UNLIMITED_PATHS = frozenset(("/healthz", "/readyz"))
"""Health checks, exempt from the limits."""
SLOW_S = 2.0
SLOW_BYTES_PER_S = 64 << 10
"""At the limit of requests, one whose body has arrived for SLOW_S at a lower rate is evicted for the next request."""
SMALL_BODY_BYTES = 64 << 10
"""An unread body up to this size is drained, so that the connection can be reused."""
DRAIN_S = 2.0
"""How long an unread body is drained: closing the connection earlier could discard the response."""
WRITE_TIMEOUT_S = 60.0
GUARDS = {b"cache-control": b"no-store", b"x-content-type-options": b"nosniff"}
"""Default headers of every response: no caching, no MIME sniffing."""
LOGGED_ERRORS_PER_S = 20
JSON_BYTES = 1 << 20


class RequestLimiter:
    """Limits open requests and event streams, in total and per owner. Used from one event loop. Clients without a token
    are indistinguishable: only the total limits apply."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._total = {"requests": settings.requests, "streams": settings.streams}
        self._per_owner = {"requests": settings.requests_per_owner, "streams": settings.streams_per_owner}
        self._open: Counter[tuple[Kind, str]] = Counter()
        self._receiving: dict[Exchange, IncomingBody] = {}

    @property
    def open(self) -> int:
        return self._open.total()

    @contextmanager
    def counting(self, exchange: Exchange) -> Iterator[None]:
        """Counts the request until the end of the block. Raises 429 at the limit."""
        if exchange.path in UNLIMITED_PATHS:
            yield
            return
        self._check_total(exchange.kind)
        self._add(exchange.kind, exchange.owner)
        try:
            yield
        finally:
            self._remove(exchange.kind, exchange.owner)

    def move(self, exchange: Exchange, kind: Kind, owner: str) -> None:
        """Counts it as another kind, or against the limit of its owner too. Raises 429 at the limit."""
        if kind != exchange.kind:
            self._check_total(kind)
        self._remove(exchange.kind, exchange.owner)
        try:
            self._add(kind, owner)
        except HttpError:
            self._open[exchange.kind, exchange.owner] += 1
            raise
        exchange.kind, exchange.owner = kind, owner

    @contextmanager
    def receiving(self, exchange: Exchange, body: IncomingBody) -> Iterator[None]:
        """Within the block, the request may be evicted if its body is slow."""
        self._receiving[exchange] = body
        try:
            yield
        finally:
            del self._receiving[exchange]

    def _check_total(self, kind: Kind) -> None:
        full = sum(count for (each, _), count in self._open.items() if each == kind) >= self._total[kind]
        if full and not (kind == "requests" and self._evict_slow()):
            raise _too_many(kind, f"this gateway has {self._total[kind]} {kind} open")

    def _add(self, kind: Kind, owner: str) -> None:
        if owner not in ("", LOCAL) and self._open[kind, owner] >= self._per_owner[kind]:
            raise _too_many(kind, f"you have {self._per_owner[kind]} {kind} open")
        self._open[kind, owner] += 1

    def _evict_slow(self) -> bool:
        """Evicts the slowest body of the owner with the most requests; False if none is slow. Without this, clients
        could occupy all requests with bodies that hardly arrive."""
        slow = [
            (-self._open["requests", exchange.owner], body.bytes_per_s, number, body)
            for number, (exchange, body) in enumerate(self._receiving.items())
            if body.reading is not None
            and not body.evicted
            and body.age_s >= SLOW_S
            and body.bytes_per_s < SLOW_BYTES_PER_S
        ]
        if slow:
            min(slow)[-1].evict()
        return bool(slow)

    def _remove(self, kind: Kind, owner: str) -> None:
        self._open[kind, owner] -= 1
        if not self._open[kind, owner]:
            del self._open[kind, owner]


class Exchange:
    """One request and its response: the owner and the limit that it counts against, the channels of ASGI, the status
    that was sent."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, limiter: RequestLimiter) -> None:
        self._receive = receive
        self._send = send
        self._limiter = limiter
        headers = Headers(scope=scope)
        self.path: str = scope["path"]
        self.kind: Kind = "requests"
        self.owner = ""
        self.started_at = time.monotonic()
        self.status = 0
        self.route = "none"
        self.received_bytes = 0
        length = headers.get("content-length", "")
        self._content_length = int(length) if length.isascii() and length.isdigit() else None
        self._unread = "transfer-encoding" in headers or bool(self._content_length)
        self._skips_drain = "expect" in headers
        self._drains_at_end = False
        scope["cauce.exchange"] = self

    def skip_drain(self) -> None:
        """Do not wait for the rest of the body."""
        self._skips_drain = True

    def admit(self, owner: str) -> None:
        """Counts the request against its owner until the response is sent. Raises 429 at the limit."""
        self._limiter.move(self, self.kind, owner)

    def become_stream(self) -> None:
        """Counts it as an event stream: long-lived streams must not use up the limit of requests."""
        self._limiter.move(self, "streams", self.owner)

    @property
    def started(self) -> bool:
        return self.status != 0

    async def read_body(self, request: Request, limit: BodyLimit, body: IncomingBody | None = None) -> bytes:
        """Reads the whole body. `body` holds the memory budget for it."""
        return b"".join(await self.read_pieces(request, limit, body))

    async def read_pieces(self, request: Request, limit: BodyLimit, body: IncomingBody | None = None) -> list[bytes]:
        """Like `read_body`, for a large body that another thread joins."""
        limit.check(self._content_length or 0)
        body = body or IncomingBody()
        with self._limiter.receiving(self, body):
            return await body.receive(request.stream(), limit)

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self.received_bytes += len(message.get("body", b""))
            self._unread = self._unread and message.get("more_body", False)
        else:
            self._unread = False
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": _with_default_headers(message.get("headers", []))}
            if not self._skips_drain and (self._content_length or SMALL_BODY_BYTES + 1) <= SMALL_BODY_BYTES:
                await self._drain(SMALL_BODY_BYTES)
            if self._unread:
                message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
                self._drains_at_end = not self._skips_drain
            await self._write(message)
        elif self._drains_at_end and not message.get("more_body", False):
            await self._write({**message, "more_body": True})
            await self._drain(1 << 62)
            await self._write({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            await self._write(message)

    async def _drain(self, limit: int) -> None:
        before = self.received_bytes
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                while self._unread and self.received_bytes - before < limit:
                    await self.receive()

    async def _write(self, message: Message) -> None:
        try:
            async with asyncio.timeout(WRITE_TIMEOUT_S):
                await self._send(message)
        except TimeoutError:
            raise ClientDisconnect from None


class Application:
    """`inner` answers the requests, and handles the events of the server's lifespan."""

    def __init__(self, inner: ASGIApp, limiter: RequestLimiter, metrics: Metrics, log: FilteringBoundLogger) -> None:
        self._inner = inner
        self._limiter = limiter
        self._metrics = metrics
        self._log = log
        self._error_log_throttle = Throttle(LOGGED_ERRORS_PER_S)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request. Every error becomes a response, or aborts the one that has started."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        exchange = Exchange(scope, receive, send, self._limiter)
        try:
            with self._limiter.counting(exchange):
                await self._inner(scope, exchange.receive, exchange.send)
        except ClientDisconnect:
            pass
        except asyncio.CancelledError:
            # The grace period for requests in flight is over.
            if not exchange.started:
                exchange.skip_drain()
                await self._error_response(stopping())(scope, exchange.receive, exchange.send)
        except CauceError as error:
            if exchange.started:
                # The headers are sent: an aborted body is the only way left to report the error.
                self._log.warning("response aborted", code=error.code, cause=str(error), path=exchange.path[:200])
                raise
            await self._error_response(error)(scope, exchange.receive, exchange.send)
        except Exception as error:
            response = self._internal(error, method=scope["method"], path=exchange.path[:200])
            if exchange.started:
                raise
            await response(scope, exchange.receive, exchange.send)
        finally:
            self._count(scope["method"], exchange)

    def _error_response(self, error: CauceError) -> Response:
        return problem_response(error) or self._internal(error)

    def _internal(self, error: Exception, **request: str) -> Response:
        reference = secrets.token_hex(6)
        self._log.error("internal error", reference=reference, exc_info=error, **request)
        return internal(reference)

    def _count(self, method: str, exchange: Exchange) -> None:
        status = exchange.status
        seconds = time.monotonic() - exchange.started_at
        self._metrics.requests.labels(method, exchange.route, str(status)).inc()
        self._metrics.seconds.labels(exchange.route).observe(seconds)
        self._metrics.received.inc(exchange.received_bytes)
        self._log.debug(
            "request",
            status=status,
            method=method,
            path=exchange.path[:200],
            owner=exchange.owner,
            seconds=round(seconds, 6),
        )
        suppressed = self._error_log_throttle.admit() if status >= 400 and status != 425 else None
        if suppressed is not None:
            self._log.info(
                "request refused",
                status=status,
                method=method,
                path=exchange.path[:200],
                owner=exchange.owner,
                **({"not_shown_before": suppressed} if suppressed else {}),
            )


def route_of(path: str, endpoints: Mapping[str, Endpoint]) -> Route:
    """A route with an endpoint for each method."""

    async def endpoint(request: Request) -> Response:
        exchange_of(request).route = path
        chosen = endpoints.get(request.method)
        if chosen is None:
            allowed = ", ".join(sorted(endpoints))
            raise HttpError(405, "method-not-allowed", f"method not allowed; use {allowed}", {"Allow": allowed})
        return await chosen(request)

    route = Route(path, endpoint)
    route.methods = None
    return route


# For handlers: values of a request, and responses.


def number(text: str, what: str, most: int = 2**62, *, least: int = 0) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
        raise bad_request(f"{what} must be a whole number from {least} to {most:,}, not {text[:40]!r}")
    return int(text)


def flag(request: Request, name: str) -> bool:
    text = request.query_params.get(name, "false")
    if text not in ("true", "false"):
        raise bad_request(f"{name} must be true or false, not {text[:40]!r}")
    return text == "true"


async def read_json(request: Request, kind: type[Decoded]) -> Decoded:
    """Decodes a JSON body. Raises 400 if it is not valid JSON, 422 if it does not match the type."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != JSON:
        # CSRF: a page of another site cannot send this Content-Type without a preflight.
        raise HttpError(415, "unsupported-format", f"the body must be JSON: send the header Content-Type: {JSON}")
    data = await exchange_of(request).read_body(request, BodyLimit(JSON_BYTES))
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as problem:
        raise HttpError(422, "bad-request", f"the JSON body does not match the schema: {problem}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise bad_request(f"the body is not valid JSON: {problem}") from None
    except RecursionError:
        raise bad_request("the JSON body is nested too deeply") from None


def json_response(content: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(content), status, headers, JSON)


def event_stream(events: AsyncIterator[bytes]) -> StreamingResponse:
    headers = {"content-type": EVENT_STREAM, "cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(events, headers=headers)


def exchange_of(request: Request) -> Exchange:
    exchange = request.scope["cauce.exchange"]
    assert isinstance(exchange, Exchange)
    return exchange


def _with_default_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    present = list(headers)
    names = {name.lower() for name, _ in present}
    return [*present, *((name, value) for name, value in GUARDS.items() if name not in names)]


def _too_many(kind: Kind, reason: str) -> HttpError:
    return HttpError(429, f"too-many-{kind}", f"{reason}, which is the limit; retry in a moment", {RETRY_AFTER: "1"})
