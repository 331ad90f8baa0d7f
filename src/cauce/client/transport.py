"""Requests to any of several gateways, said again until one of them has answered.

Every request of the service may be repeated, so a lost answer is never a question: it is asked once more, elsewhere
if possible. Only what a gateway has refused for good, or silence for longer than the patience, reaches the caller.
"""

from __future__ import annotations

import ipaddress
import random
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

import msgspec
import urllib3
from urllib3.connection import HTTPConnection
from urllib3.exceptions import HTTPError, LocationParseError
from urllib3.response import BaseHTTPResponse

from cauce.client.connection_problems import ConnectionProblem, described, other_server, problem_of, unreachable
from cauce.client.settings import ASK_ANSWER_S, ConnectionSettings
from cauce.errors import Refused, RefusedRequest, UsageError
from cauce.wire.http import (
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

CONNECT_S = 5.0
GONE_MS, PROBE_S = 20_000, 5
"""A host that acknowledges nothing for so long, not even probes, is gone. One that is only slow does."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 5.0
CHUNK_BYTES = 2**18
AGAIN = (408, 425, 429, 500, 502, 503, 504)
"""Answers that may be others in a moment."""
ELSEWHERE = (500, 502, 503, 504)
"""Those of them that another gateway may not give."""
WRONG_REQUEST = (400, 401, 403, 404, 405, 415)
OWN_MEDIA = (JSON, PROBLEM, EVENT_STREAM, CSV, ARROW_STREAM, ARROW_FILE, PARQUET)
"""What a gateway answers with. Anything else comes from another server."""
TOKEN = re.compile(r"[!-~]+")

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

    elsewhere: bool
    pause_s: float | None = None
    refusal: Refused | None = None
    problem: ConnectionProblem | None = None


@dataclass
class Gateway:
    address: str
    pool: urllib3.HTTPConnectionPool
    loopback: bool
    reached: bool = False
    """Whether it has ever answered as a gateway does."""


@dataclass
class _Tries:
    """What one request has met so far."""

    what: str
    stop: threading.Event | None
    started: float = field(default_factory=time.monotonic)
    count: int = 0
    problems: dict[str, ConnectionProblem] = field(default_factory=dict)
    """By address, the latest last."""


class Transport:
    """Connections to the gateways. May be used by several threads at once."""

    def __init__(
        self,
        addresses: Sequence[str],
        settings: ConnectionSettings | None = None,
        chance: random.Random | None = None,
    ) -> None:
        if not addresses:
            raise UsageError("no gateway was named; give an address such as http://127.0.0.1:8080")
        self.settings = settings or ConnectionSettings()
        token = self.settings.token
        if token and not TOKEN.fullmatch(token):
            raise UsageError("the token holds characters that no token has, such as spaces: check --token, CAUCE_TOKEN")
        self.gateways = [_gateway(address, self.settings.ca, self.settings.connections) for address in addresses]
        self._headers = {AUTHORIZATION: f"Bearer {token}"} if token else {}
        self._chance = chance or random.Random()
        self._lock = threading.Lock()
        # Many clients with the same list should not all begin at its head.
        self._place = self._chance.randrange(len(self.gateways))
        self._last_success = -float("inf")
        self._lost_at: float | None = None
        """Since when no gateway has answered, once that was reported."""

    @property
    def reached(self) -> bool:
        """Whether any gateway has ever answered."""
        return any(gateway.reached for gateway in self.gateways)

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
            timeout=urllib3.Timeout(connect=CONNECT_S, read=self._answer_s(gateway) + wait_s),
            preload_content=not stream,
        )

    def _answer_s(self, gateway: Gateway) -> float:
        # The first answer is not waited for as long: the address may be one of something that never answers.
        return self.settings.answer_s if gateway.reached else min(self.settings.answer_s, ASK_ANSWER_S)

    def _persist(self, once: Callable[[Gateway], Reply], what: str, stop: threading.Event | None = None) -> Reply:
        tries = _Tries(what, stop)
        while True:
            if stop is not None and stop.is_set():
                raise Stopped
            place = self._place
            gateway = self.gateways[place]
            try:
                reply = once(gateway)
            except (HTTPError, OSError) as error:
                problem = problem_of(gateway.address, error, reached=gateway.reached)
                tries.problems.pop(gateway.address, None)
                tries.problems[gateway.address] = problem
                trouble = _Trouble(elsewhere=True, problem=problem)
            else:
                if reply.status < 300:
                    _check_own(reply, gateway, what)
                    self._succeeded(gateway)
                    return reply
                trouble = self._refused(reply, gateway, what)
            self._after(trouble, place, tries)
            tries.count += 1

    def _succeeded(self, gateway: Gateway) -> None:
        now = time.monotonic()
        with self._lock:
            again = " again" if self.reached else ""
            self._last_success = now
            gateway.reached = True
            lost_at, self._lost_at = self._lost_at, None
        if lost_at is not None:
            self._report(f"connected to {gateway.address}{again} after {now - lost_at:.1f} s")

    def _refused(self, reply: Reply, gateway: Gateway, what: str) -> _Trouble:
        """Raises what a gateway has refused for good."""
        refusal = refused(reply, gateway.address, what)
        if reply.status not in AGAIN:
            _check_own(reply, gateway, what)
            gateway.reached = True
            raise refusal
        return _Trouble(reply.status in ELSEWHERE, _retry_after(reply), refusal)

    def _after(self, trouble: _Trouble, place: int, tries: _Tries) -> None:
        """Chooses where the next attempt goes, and waits for its time; raises when that would be too late."""
        untried = trouble.elsewhere and tries.count + 1 < len(self.gateways)
        if trouble.elsewhere:
            with self._lock:
                # Another thread may have left this gateway already.
                if self._place == place:
                    self._place = (place + 1) % len(self.gateways)
        pause_s = 0.0 if untried and trouble.pause_s is None else self._pause(trouble, tries.count)
        left_s = max(tries.started, self._last_success) + self.settings.patience_s - time.monotonic()
        if not untried:
            self._give_up_or_report(trouble, tries, left_s)
        # A last attempt is made when the patience ends, whatever the pause.
        pause_s = max(min(pause_s, left_s), 0.0)
        if tries.stop is None:
            time.sleep(pause_s)
        elif tries.stop.wait(pause_s):
            raise Stopped

    def _give_up_or_report(self, trouble: _Trouble, tries: _Tries, left_s: float) -> None:
        problems = tries.problems
        if trouble.problem is None:
            if left_s <= 0 and trouble.refusal is not None:
                raise trouble.refusal
            if tries.count and trouble.elsewhere:
                self._lost(f"{self.gateways[self._place].address} does not work properly: {trouble.refusal}", left_s)
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


def _check_own(reply: Reply, gateway: Gateway, what: str) -> None:
    """Raises where another server than a gateway has answered."""
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
