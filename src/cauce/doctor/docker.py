"""The few words of the Docker Engine API that starting and ending a container takes, over its socket.

Nothing is kept: every call is a connection of its own, and a container is known by its name.
"""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode

import msgspec

from cauce.errors import DockerFailed, UsageError

DEFAULT = "unix:///var/run/docker.sock"
CALL_S = 30.0
_GONE = (404, 409)


class _Problem(msgspec.Struct):
    message: str = ""


class _Created(msgspec.Struct):
    Id: str


class _Waited(msgspec.Struct):
    StatusCode: int


class _State(msgspec.Struct):
    Running: bool = False
    ExitCode: int = 0


class _Inspected(msgspec.Struct):
    State: _State


@dataclass(frozen=True)
class Box:
    """What runs in a container, and what it sees of its host."""

    image: str
    command: Sequence[str]
    environment: Mapping[str, str]
    labels: Mapping[str, str]
    binds: Sequence[str]
    network: str = "host"
    user: str = ""

    def body(self) -> dict[str, object]:
        return {
            "Image": self.image,
            "Cmd": list(self.command),
            "Env": [f"{name}={value}" for name, value in self.environment.items()],
            "Labels": dict(self.labels),
            "User": self.user,
            "HostConfig": {"Binds": list(self.binds), "NetworkMode": self.network},
        }


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float | None) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Docker:
    """An engine at `unix:///path` or `tcp://host:port`."""

    def __init__(self, address: str = DEFAULT) -> None:
        scheme, _, self._place = address.partition("://")
        if scheme not in ("unix", "tcp") or not self._place:
            raise UsageError(f"{address!r} is no address of Docker; write it as {DEFAULT} or tcp://HOST:PORT")
        self._unix = scheme == "unix"
        self._prefix: str | None = None

    def create(self, name: str, box: Box) -> str:
        """The id of a new container, which does not run yet."""
        data = self._call("POST", f"/containers/create?{urlencode({'name': name})}", box.body())
        return msgspec.json.decode(data, type=_Created).Id

    def start(self, name: str) -> None:
        self._call("POST", f"/containers/{quote(name)}/start")

    def wait(self, name: str) -> int:
        """Its exit code, when it has ended."""
        return msgspec.json.decode(
            self._call("POST", f"/containers/{quote(name)}/wait", wait=True), type=_Waited
        ).StatusCode

    def stop(self, name: str, grace_s: int) -> None:
        """Asks it to end, and ends it after that time."""
        self._call("POST", f"/containers/{quote(name)}/stop?t={grace_s}", bearable=(*_GONE, 304))

    def kill(self, name: str, signal: str = "SIGKILL") -> None:
        self._call("POST", f"/containers/{quote(name)}/kill?signal={signal}", bearable=_GONE)

    def remove(self, name: str) -> None:
        """With whatever runs in it. One that is not there is no problem."""
        self._call("DELETE", f"/containers/{quote(name)}?force=true&v=true", bearable=(404,))

    def running(self, name: str) -> tuple[bool, int]:
        """Whether it runs, and its exit code if it does not."""
        found = msgspec.json.decode(self._call("GET", f"/containers/{quote(name)}/json"), type=_Inspected)
        return found.State.Running, found.State.ExitCode

    def last_words(self, name: str, lines: int) -> bytes:
        """The end of what it wrote to its two outputs."""
        asked = urlencode({"stdout": "true", "stderr": "true", "tail": lines})
        return b"".join(_frames(self._call("GET", f"/containers/{quote(name)}/logs?{asked}", bearable=(404,))))

    def _call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        bearable: Sequence[int] = (),
        wait: bool = False,
    ) -> bytes:
        if self._prefix is None:
            self._prefix = self._version()
        status, data = self._ask(method, self._prefix + path, body, None if wait else CALL_S)[:2]
        if status >= 300 and status not in bearable:
            raise DockerFailed(f"Docker refused {method} {path.partition('?')[0]}: {_message(data)}", status)
        return data if status < 300 else b""

    def _version(self) -> str:
        """The engine's own version of the API: calls without one are not taken for ever."""
        status, _, version = self._ask("GET", "/_ping", None, CALL_S)
        if status != 200:
            raise DockerFailed(f"what listens at {self._place} is no Docker engine", status)
        return f"/v{version}" if version else ""

    def _ask(self, method: str, path: str, body: object, timeout: float | None) -> tuple[int, bytes, str]:
        connection = self._connection(timeout)
        try:
            data = b"" if body is None else msgspec.json.encode(body)
            connection.request(method, path, data, {"Content-Type": "application/json"} if data else {})
            reply = connection.getresponse()
            return reply.status, reply.read(), reply.headers.get("Api-Version", "")
        except (OSError, http.client.HTTPException) as problem:
            why = str(problem) or type(problem).__name__
            raise DockerFailed(f"Docker at {self._place} does not answer: {why}") from None
        finally:
            connection.close()

    def _connection(self, timeout: float | None) -> http.client.HTTPConnection:
        if self._unix:
            return _UnixConnection(self._place, timeout)
        return http.client.HTTPConnection(self._place, timeout=timeout)


def _message(data: bytes) -> str:
    try:
        return msgspec.json.decode(data, type=_Problem).message
    except msgspec.MsgspecError:
        return data[:200].decode(errors="replace")


def _frames(data: bytes) -> Iterator[bytes]:
    """Both outputs come as one stream of frames: a byte for which, three of nothing, four for the length."""
    at = 0
    while at + 8 <= len(data):
        size = int.from_bytes(data[at + 4 : at + 8], "big")
        yield data[at + 8 : at + 8 + size]
        at += 8 + size
