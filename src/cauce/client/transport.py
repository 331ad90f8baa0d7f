"""HTTP requests to any of several gateways, with retries and failover.

Every request of the API is idempotent, so a request whose response was lost is retried, on another gateway if possible.
The caller sees only final refusals, and an error if no gateway responds within the patience.
"""

from __future__ import annotations

import random
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import msgspec
import urllib3
from urllib3.connection import HTTPConnection
from urllib3.exceptions import HTTPError, LocationParseError
from urllib3.response import BaseHTTPResponse

from cauce.api.http import (
    ARROW_FILE,
    ARROW_STREAM,
    AUTHORIZATION,
    CSV,
    EVENT_STREAM,
    JSON,
    PARQUET,
    PROBLEM,
    RETRY_AFTER,
)
from cauce.api.names import is_loopback
from cauce.api.problems import Problem
from cauce.client.connection_problems import ConnectionProblem, described, other_server, problem_of, unreachable
from cauce.client.file_range import FileRange, RangeConnection, SecureRangeConnection
from cauce.client.settings import ASK_ANSWER_S, ConnectionSettings
from cauce.errors import Refused, RefusedRequest, UsageError

CONNECT_S = 5.0
UNREACHABLE_MS, PROBE_S = 20_000, 5
"""A host that acknowledges nothing for this long, not even keepalive probes, is unreachable, not just slow."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 5.0
CHUNK_BYTES = 2**18
RETRIED = (408, 425, 429, 500, 502, 503, 504)
"""Statuses of temporary failures."""
FAILED_OVER = (500, 502, 503, 504)
"""Those of them for which another gateway is tried."""
WRONG_REQUEST = (400, 401, 403, 404, 405, 415)
OWN_MEDIA = (JSON, PROBLEM, EVENT_STREAM, CSV, ARROW_STREAM, ARROW_FILE, PARQUET)
"""Media types of gateway responses. Any other type comes from another server."""
TOKEN = re.compile(r"[!-~]+")

Body = bytes | memoryview
"""Bytes of a request body, sent without copying."""


class Stopped(Exception):
    """The caller cancelled the request."""


class Broken(Exception):
    """An event stream was interrupted; the reader has to subscribe again."""


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True)
class _Failure:
    """Why an attempt failed and has to be retried."""

    failover: bool
    pause_s: float | None = None
    refusal: Refused | None = None
    problem: ConnectionProblem | None = None


@dataclass
class Gateway:
    address: str
    pool: urllib3.HTTPConnectionPool
    loopback: bool
    reached: bool = False
    """Whether it has ever responded as a gateway."""


@dataclass
class _Attempts:
    """The failed attempts of one request."""

    what: str
    stop: threading.Event | None
    started: float = field(default_factory=time.monotonic)
    count: int = 0
    problems: dict[str, ConnectionProblem] = field(default_factory=dict)
    """By address, the most recent last."""


class Transport:
    """Connections to the gateways. Thread-safe."""

    def __init__(
        self,
        addresses: Sequence[str],
        settings: ConnectionSettings | None = None,
        rng: random.Random | None = None,
    ) -> None:
        if not addresses:
            raise UsageError("no gateway given; pass an address such as http://127.0.0.1:8080")
        self.settings = settings or ConnectionSettings()
        token = self.settings.token
        if token and not TOKEN.fullmatch(token):
            raise UsageError("the token contains invalid characters, such as spaces; check CAUCE_TOKEN")
        self.gateways = [_gateway(address, self.settings.ca, self.settings.connections) for address in addresses]
        self._headers = {AUTHORIZATION: f"Bearer {token}"} if token else {}
        self._random = rng or random.Random()
        self._lock = threading.Lock()
        # Start at a random gateway, so that clients with the same list spread their load.
        self._current = self._random.randrange(len(self.gateways))
        self._last_success = -float("inf")
        self._lost_at: float | None = None
        """When the loss of all gateways was reported; None while connected."""

    @property
    def reached(self) -> bool:
        """Whether any gateway has ever responded."""
        return any(gateway.reached for gateway in self.gateways)

    @property
    def loopback(self) -> bool:
        """Whether all gateways are on this machine."""
        return all(gateway.loopback for gateway in self.gateways)

    def close(self) -> None:
        for gateway in self.gateways:
            gateway.pool.close()

    def request(
        self,
        method: str,
        path: str,
        body: Body | FileRange | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        wait_s: float = 0.0,
        stop: threading.Event | None = None,
    ) -> Reply:
        """Returns the complete response. `wait_s` is the long-poll duration that the request asks for."""

        def once(gateway: Gateway) -> Reply:
            response = self._send(gateway, method, path, body, headers, wait_s)
            return Reply(response.status, response.headers, response.data)

        return self._with_retries(once, f"{method} {path}", stop)

    def download(self, path: str, accept: str, into: BinaryIO) -> None:
        """Downloads a body of any size into a file. Restarts from the beginning if the connection breaks."""

        def once(gateway: Gateway) -> Reply:
            response = self._send(gateway, "GET", path, None, {"Accept": accept}, stream=True)
            try:
                if response.status >= 300:
                    return Reply(response.status, response.headers, response.read())
                into.seek(0)
                into.truncate()
                for chunk in response.stream(CHUNK_BYTES):
                    into.write(chunk)
                return Reply(response.status, response.headers)
            finally:
                # A connection cannot be reused if the body was not read to the end.
                response.close() if not response.closed else response.release_conn()

        self._with_retries(once, f"GET {path}")

    def events(self, path: str) -> Iterator[bytes]:
        """Yields the data of each server-sent event until the gateway ends the stream. Raises Broken on a connection
        error."""
        streams: list[BaseHTTPResponse] = []

        def once(gateway: Gateway) -> Reply:
            response = self._send(gateway, "GET", path, None, {"Accept": EVENT_STREAM}, stream=True)
            if response.status >= 300:
                return Reply(response.status, response.headers, response.read())
            streams.append(response)
            return Reply(response.status, response.headers)

        self._with_retries(once, f"GET {path}")
        response = streams.pop()
        try:
            yield from _events(response)
        except HTTPError as problem:
            raise Broken(str(problem)) from problem
        finally:
            response.close()

    def _send(
        self,
        gateway: Gateway,
        method: str,
        path: str,
        body: Body | FileRange | None,
        headers: Mapping[str, str] | None,
        wait_s: float = 0.0,
        stream: bool = False,
    ) -> BaseHTTPResponse:
        sent: Any = body  # any buffer is sent without copying
        more = dict(headers or {})
        if isinstance(body, FileRange):
            sent, more["Content-Length"] = [body], str(len(body))
        return gateway.pool.urlopen(
            method,
            path,
            sent,
            headers={**self._headers, **more},
            retries=False,
            redirect=False,
            timeout=urllib3.Timeout(connect=CONNECT_S, read=self._answer_s(gateway) + wait_s),
            preload_content=not stream,
        )

    def _answer_s(self, gateway: Gateway) -> float:
        # A shorter timeout for the first response: the server at this address may never respond.
        return self.settings.answer_s if gateway.reached else min(self.settings.answer_s, ASK_ANSWER_S)

    def _with_retries(self, once: Callable[[Gateway], Reply], what: str, stop: threading.Event | None = None) -> Reply:
        attempts = _Attempts(what, stop)
        while True:
            if stop is not None and stop.is_set():
                raise Stopped
            index = self._current
            gateway = self.gateways[index]
            try:
                reply = once(gateway)
            except (HTTPError, OSError) as error:
                problem = problem_of(gateway.address, error, reached=gateway.reached)
                attempts.problems.pop(gateway.address, None)
                attempts.problems[gateway.address] = problem
                failure = _Failure(failover=True, problem=problem)
            else:
                if reply.status < 300:
                    _check_own(reply, gateway, what)
                    self._succeeded(gateway)
                    return reply
                failure = self._refused(reply, gateway, what)
            self._after(failure, index, attempts)
            attempts.count += 1

    def _succeeded(self, gateway: Gateway) -> None:
        now = time.monotonic()
        with self._lock:
            again = " again" if self.reached else ""
            self._last_success = now
            gateway.reached = True
            lost_at, self._lost_at = self._lost_at, None
        if lost_at is not None:
            self._report(f"connected to {gateway.address}{again} after {now - lost_at:.1f} s")

    def _refused(self, reply: Reply, gateway: Gateway, what: str) -> _Failure:
        """Classifies an error response. Raises if a retry cannot succeed."""
        refusal = refused(reply, gateway.address, what)
        if reply.status not in RETRIED:
            _check_own(reply, gateway, what)
            gateway.reached = True
            raise refusal
        return _Failure(reply.status in FAILED_OVER, _retry_after(reply), refusal)

    def _after(self, failure: _Failure, index: int, attempts: _Attempts) -> None:
        """Selects the gateway of the next attempt and sleeps for the backoff. Raises when the patience is exhausted."""
        other_left = failure.failover and attempts.count + 1 < len(self.gateways)
        if failure.failover:
            with self._lock:
                # Another thread may have switched to the next gateway already.
                if self._current == index:
                    self._current = (index + 1) % len(self.gateways)
        pause_s = 0.0 if other_left and failure.pause_s is None else self._pause(failure, attempts.count)
        left_s = max(attempts.started, self._last_success) + self.settings.patience_s - time.monotonic()
        if not other_left:
            self._give_up_or_report(failure, attempts, left_s)
        # The last attempt is made when the patience ends, even if the backoff is longer.
        pause_s = max(min(pause_s, left_s), 0.0)
        if attempts.stop is None:
            time.sleep(pause_s)
        elif attempts.stop.wait(pause_s):
            raise Stopped

    def _give_up_or_report(self, failure: _Failure, attempts: _Attempts, left_s: float) -> None:
        problems = attempts.problems
        if failure.problem is None:
            if left_s <= 0 and failure.refusal is not None:
                raise failure.refusal
            if attempts.count and failure.failover:
                self._lost(f"{self.gateways[self._current].address} returns errors: {failure.refusal}", left_s)
            return
        if len(problems) == len(self.gateways) and all(each.lasting for each in problems.values()):
            raise unreachable(problems)
        if left_s <= 0:
            raise unreachable(problems, self.settings.patience_s)
        self._lost(described(problems), left_s)

    def _lost(self, sentence: str, left_s: float) -> None:
        with self._lock:
            if self._lost_at is not None:
                return
            self._lost_at = time.monotonic()
        self._report(f"{sentence}; retrying for up to {left_s:.0f} s, Ctrl-C stops")

    def _report(self, sentence: str) -> None:
        if self.settings.on_connection is not None:
            self.settings.on_connection(sentence)

    def _pause(self, failure: _Failure, attempt: int) -> float:
        """Exponential backoff with jitter, so that clients do not retry at the same time."""
        if failure.pause_s:
            return failure.pause_s * self._random.uniform(1.0, 1.25)
        rounds = attempt // len(self.gateways)
        backoff_s = min(FIRST_PAUSE_S * 2.0 ** min(rounds, 16), LONGEST_PAUSE_S)
        return backoff_s * self._random.uniform(0.5, 1.0)


def refused(reply: Reply, address: str, what: str) -> Refused:
    try:
        problem = msgspec.json.decode(reply.body, type=Problem)
        message, code = problem.detail, problem.code
    except msgspec.DecodeError:
        message, code = f"{address} answered {what} with status {reply.status}", f"http-{reply.status}"
    kind = RefusedRequest if reply.status in WRONG_REQUEST or code == "bad-request" else Refused
    return kind(message, reply.status, code)


def _gateway(address: str, ca: str | None, connections: int) -> Gateway:
    full = address if "://" in address else f"http://{address}"
    try:
        url = urllib3.util.parse_url(full)
    except LocationParseError:
        url = urllib3.util.Url()
    if url.scheme not in ("http", "https") or not url.host or url.path not in (None, "/") or url.query or url.auth:
        raise UsageError(f"invalid gateway address {address!r}; expected a URL such as http://127.0.0.1:8080")
    named = f"{url.scheme}://{url.netloc}"
    # The defaults set TCP_NODELAY: a request must not wait for the acknowledgement of the previous one.
    options = [*HTTPConnection.default_socket_options, *_keepalive_options()]
    settings = {"maxsize": connections, "socket_options": options}
    if url.scheme == "https":
        settings["ca_certs"] = ca
    pool = urllib3.connection_from_url(named, **settings)
    pool.ConnectionCls = SecureRangeConnection if url.scheme == "https" else RangeConnection
    return Gateway(named, pool, is_loopback(url.host))


def _keepalive_options() -> list[tuple[int, int, int]]:
    """Returns the keepalive socket options that detect an unreachable host, as far as this system supports them."""
    wanted = {"TCP_KEEPIDLE": PROBE_S, "TCP_KEEPINTVL": PROBE_S, "TCP_USER_TIMEOUT": UNREACHABLE_MS}
    known = [(getattr(socket, name), value) for name, value in wanted.items() if hasattr(socket, name)]
    return [
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        *((socket.IPPROTO_TCP, option, value) for option, value in known),
    ]


def _check_own(reply: Reply, gateway: Gateway, what: str) -> None:
    """Raises if the response did not come from a gateway."""
    media = reply.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if media not in OWN_MEDIA:
        raise other_server(gateway.address, f"{what} with status {reply.status} and {media or 'no content'}")


def _retry_after(reply: Reply) -> float | None:
    try:
        return max(float(reply.headers.get(RETRY_AFTER, "")), 0.0)
    except ValueError:
        return None


def _events(response: BaseHTTPResponse) -> Iterator[bytes]:
    rest = b""
    data: list[bytes] = []
    while chunk := response.read1(CHUNK_BYTES):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            line = line.removesuffix(b"\r")
            if line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
            elif not line and data:
                yield b"\n".join(data)
                data = []
