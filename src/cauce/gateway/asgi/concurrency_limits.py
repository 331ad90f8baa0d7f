"""Limits on concurrent requests and event streams, in total and per owner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from cauce.api.http import RETRY_AFTER
from cauce.gateway.asgi.incoming_body import IncomingBody
from cauce.gateway.asgi.problems import HttpError
from cauce.gateway.settings import GatewaySettings
from cauce.gateway.validation.names import LOCAL

Kind = Literal["requests", "streams"]
UNLIMITED_PATHS = frozenset(("/healthz", "/readyz"))
"""Health checks, exempt from the limits."""
SLOW_S = 2.0
SLOW_BYTES_PER_S = 64 << 10
"""At the limit of requests, one whose body has arrived for SLOW_S at a lower rate is evicted for the next request."""


class Permit:
    """The permit of one open request: the limit and the owner that it counts against."""

    def __init__(self, limiter: RequestLimiter) -> None:
        self._limiter = limiter
        self.kind: Kind = "requests"
        self.owner = ""

    def assign_owner(self, owner: str) -> None:
        """Counts the request against the limit of its owner too. Raises 429 if that is reached."""
        self._limiter.move(self, self.kind, owner)

    def become_stream(self) -> None:
        """Counts it as an event stream: long-lived streams must not use up the limit of requests."""
        self._limiter.move(self, "streams", self.owner)

    @contextmanager
    def receiving(self, body: IncomingBody) -> Iterator[None]:
        """Within the block, the request may be evicted if its body is slow."""
        self._limiter.receiving[self] = body
        try:
            yield
        finally:
            del self._limiter.receiving[self]


class RequestLimiter:
    """Used from one event loop. Clients without a token are indistinguishable: only the total limits apply."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._total = {"requests": settings.requests, "streams": settings.streams}
        self._per_owner = {"requests": settings.requests_per_owner, "streams": settings.streams_per_owner}
        self._open: Counter[tuple[Kind, str]] = Counter()
        self.receiving: dict[Permit, IncomingBody] = {}

    @property
    def open(self) -> int:
        return self._open.total()

    @contextmanager
    def acquire(self, path: str) -> Iterator[Permit]:
        permit = Permit(self)
        if path in UNLIMITED_PATHS:
            yield permit
            return
        self._check_total(permit.kind)
        self._add(permit.kind, permit.owner)
        try:
            yield permit
        finally:
            self._remove(permit.kind, permit.owner)

    def move(self, permit: Permit, kind: Kind, owner: str) -> None:
        if kind != permit.kind:
            self._check_total(kind)
        self._remove(permit.kind, permit.owner)
        try:
            self._add(kind, owner)
        except HttpError:
            self._open[permit.kind, permit.owner] += 1
            raise
        permit.kind, permit.owner = kind, owner

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
            (-self._open["requests", permit.owner], body.bytes_per_s, number, body)
            for number, (permit, body) in enumerate(self.receiving.items())
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


def _too_many(kind: Kind, reason: str) -> HttpError:
    return HttpError(429, f"too-many-{kind}", f"{reason}, which is the limit; retry in a moment", {RETRY_AFTER: "1"})
