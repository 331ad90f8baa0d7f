"""Requests to any of several gateways, said again until one of them has answered.

Every request of the service may be repeated, so a lost answer is never a question: it is asked once more, elsewhere
if possible. Only what a gateway has refused for good, or silence for longer than the patience, reaches the caller.
"""

from __future__ import annotations

import ipaddress
import random
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import msgspec
import urllib3
from urllib3.connection import HTTPConnection
from urllib3.exceptions import HTTPError, LocationParseError
from urllib3.exceptions import SSLError as TlsError
from urllib3.response import BaseHTTPResponse

from cauce.errors import Refused, RefusedRequest, Unreachable, UsageError
from cauce.wire.http import AUTHORIZATION, EVENT_STREAM, RETRY_AFTER

PATIENCE_S = 120.0
CONNECT_S = 5.0
ANSWER_S = 60.0
GONE_MS, PROBE_S = 20_000, 5
"""A host that acknowledges nothing for so long, not even probes, is gone. One that is only slow does."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 5.0
CHUNK_BYTES = 2**18
AGAIN = (408, 425, 429, 500, 502, 503, 504)
"""Answers that may be others in a moment."""
ELSEWHERE = (500, 502, 503, 504)
"""Those of them that another gateway may not give."""
WRONG_REQUEST = (400, 401, 403, 404, 405, 415)

Body = bytes | memoryview
"""What is sent, from where it lies."""


class Stopped(Exception):
    """The caller does not want the answer any more."""


class Broken(Exception):
    """A stream of events ended before its time; whoever reads it asks again."""


class Problem(msgspec.Struct, frozen=True):
    """An error as a gateway says it (RFC 9457)."""

    title: str = ""
    detail: str = ""
    code: str = ""


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True)
class _Trouble:
    """Why a request has to be said again."""

    said: str
    elsewhere: bool
    pause_s: float | None = None
    refusal: Refused | None = None


@dataclass
class Gateway:
    address: str
    pool: urllib3.HTTPConnectionPool
    loopback: bool


class Transport:
    """Connections to the gateways. May be used by several threads at once."""

    def __init__(
        self,
        addresses: Sequence[str],
        token: str | None = None,
        *,
        ca: str | None = None,
        patience_s: float = PATIENCE_S,
        connections: int = 4,
        chance: random.Random | None = None,
    ) -> None:
        if not addresses:
            raise UsageError("no gateway was named; give an address such as http://127.0.0.1:8080")
        self.gateways = [_gateway(address, ca, connections) for address in addresses]
        self._headers = {AUTHORIZATION: f"Bearer {token}"} if token else {}
        self._patience_s = patience_s
        self._chance = chance or random.Random()
        self._lock = threading.Lock()
        # Many clients with the same list should not all begin at its head.
        self._place = self._chance.randrange(len(self.gateways))
        self._last_success = -float("inf")

    @property
    def loopback(self) -> bool:
        """Whether nothing that is sent leaves this machine."""
        return all(gateway.loopback for gateway in self.gateways)

    def close(self) -> None:
        for gateway in self.gateways:
            gateway.pool.close()

    def request(
        self,
        method: str,
        path: str,
        body: Body | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        wait_s: float = 0.0,
        stop: threading.Event | None = None,
    ) -> Reply:
        """The answer, read whole. `wait_s` is how long the gateway was asked to take its time."""

        def once(gateway: Gateway) -> Reply:
            response = self._send(gateway, method, path, body, headers, wait_s)
            return Reply(response.status, response.headers, response.data)

        return self._persist(once, f"{method} {path}", stop)

    def download(self, path: str, accept: str, into: BinaryIO) -> None:
        """A body of any size into a file, which is begun anew if the connection breaks."""

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
                # Of a body that was not read to its end the connection is of no more use.
                response.close() if not response.closed else response.release_conn()

        self._persist(once, f"GET {path}")

    def events(self, path: str) -> Iterator[bytes]:
        """The data of each server-sent event, until the gateway ends the stream. Raises Broken if it broke."""
        streams: list[BaseHTTPResponse] = []

        def once(gateway: Gateway) -> Reply:
            response = self._send(gateway, "GET", path, None, {"Accept": EVENT_STREAM}, stream=True)
            if response.status >= 300:
                return Reply(response.status, response.headers, response.read())
            streams.append(response)
            return Reply(response.status, response.headers)

        self._persist(once, f"GET {path}")
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
        body: Body | None,
        headers: Mapping[str, str] | None,
        wait_s: float = 0.0,
        stream: bool = False,
    ) -> BaseHTTPResponse:
        return gateway.pool.urlopen(
            method,
            path,
            body,  # type: ignore[arg-type]  # anything with bytes is sent as it lies
            headers={**self._headers, **(headers or {})},
            retries=False,
            redirect=False,
            timeout=urllib3.Timeout(connect=CONNECT_S, read=ANSWER_S + wait_s),
            preload_content=not stream,
        )

    def _persist(self, once: Callable[[Gateway], Reply], what: str, stop: threading.Event | None = None) -> Reply:
        started = time.monotonic()
        attempt = 0
        while True:
            if stop is not None and stop.is_set():
                raise Stopped
            place = self._place
            gateway = self.gateways[place]
            try:
                reply = once(gateway)
            except (HTTPError, OSError) as problem:
                _check_trust(gateway, problem)
                trouble = _Trouble(f"{gateway.address}: {_reason(problem)}", elsewhere=True)
            else:
                if reply.status < 300:
                    self._last_success = time.monotonic()
                    return reply
                refusal = refused(reply, gateway.address, what)
                if reply.status not in AGAIN:
                    raise refusal
                trouble = _Trouble(str(refusal), reply.status in ELSEWHERE, _retry_after(reply), refusal)
            self._after(trouble, place, attempt, started, stop)
            attempt += 1

    def _after(self, trouble: _Trouble, place: int, attempt: int, started: float, stop: threading.Event | None) -> None:
        """Chooses where the next attempt goes, and waits for its time; raises when that would be too late."""
        untried = trouble.elsewhere and attempt + 1 < len(self.gateways)
        if trouble.elsewhere:
            with self._lock:
                # Another thread may have left this gateway already.
                if self._place == place:
                    self._place = (place + 1) % len(self.gateways)
        pause_s = 0.0 if untried and trouble.pause_s is None else self._pause(trouble, attempt)
        left_s = max(started, self._last_success) + self._patience_s - time.monotonic()
        if left_s <= 0:
            raise trouble.refusal or Unreachable(
                f"no gateway has answered for {self._patience_s:g} s ({trouble.said}): see that the service runs "
                "and is reached under this address, then run the same again"
            )
        # A last attempt is made when the patience ends, whatever the pause.
        pause_s = min(pause_s, left_s)
        if stop is None:
            time.sleep(pause_s)
        elif stop.wait(pause_s):
            raise Stopped

    def _pause(self, trouble: _Trouble, attempt: int) -> float:
        """Longer each time, and never the same for two clients that were turned away together."""
        if trouble.pause_s:
            return trouble.pause_s * self._chance.uniform(1.0, 1.25)
        rounds = attempt // len(self.gateways)
        backoff_s = min(FIRST_PAUSE_S * 2.0 ** min(rounds, 16), LONGEST_PAUSE_S)
        return backoff_s * self._chance.uniform(0.5, 1.0)


def refused(reply: Reply, address: str, what: str) -> Refused:
    try:
        problem = msgspec.json.decode(reply.body, type=Problem)
    except msgspec.DecodeError:
        problem = Problem()
    said = problem.detail or problem.title or f"{address} answered {what} with status {reply.status}"
    code = problem.code or f"http-{reply.status}"
    kind = RefusedRequest if reply.status in WRONG_REQUEST or code == "bad-request" else Refused
    return kind(said, reply.status, code)


def _gateway(address: str, ca: str | None, connections: int) -> Gateway:
    full = address if "://" in address else f"http://{address}"
    try:
        url = urllib3.util.parse_url(full)
    except LocationParseError:
        url = urllib3.util.Url()
    if url.scheme not in ("http", "https") or not url.host or url.path not in (None, "/") or url.query or url.auth:
        raise UsageError(f"{address!r} is no address of a gateway; write it as http://127.0.0.1:8080")
    named = f"{url.scheme}://{url.netloc}"
    # No delay: the head of a request must not wait for the acknowledgement of the one before.
    options = [*HTTPConnection.default_socket_options, *_noticing()]
    settings = {"maxsize": connections, "socket_options": options}
    if url.scheme == "https":
        settings["ca_certs"] = ca
    return Gateway(named, urllib3.connection_from_url(named, **settings), is_loopback(url.host))


def _noticing() -> list[tuple[int, int, int]]:
    """Options of a socket that notices when the other end's host is cut off, as far as this system has them."""
    wanted = {"TCP_KEEPIDLE": PROBE_S, "TCP_KEEPINTVL": PROBE_S, "TCP_USER_TIMEOUT": GONE_MS}
    known = [(getattr(socket, name), value) for name, value in wanted.items() if hasattr(socket, name)]
    return [
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        *((socket.IPPROTO_TCP, option, value) for option, value in known),
    ]


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _reason(problem: Exception) -> str:
    """Without the addresses of objects that urllib3 puts first."""
    cause = problem.__cause__ or problem.__context__
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return str(problem).rpartition("object at ")[2].partition(": ")[2] or str(problem) or type(problem).__name__


def _check_trust(gateway: Gateway, problem: Exception) -> None:
    """A certificate that is not trusted now will not be in a moment either."""
    cause = problem.__cause__ or problem.__context__
    if isinstance(problem, TlsError) and isinstance(cause, ssl.SSLCertVerificationError):
        raise Unreachable(
            f"the certificate of {gateway.address} is not trusted ({cause.verify_message}): name the file of the "
            "certificate, or of those who signed it, with --ca"
        ) from problem


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
