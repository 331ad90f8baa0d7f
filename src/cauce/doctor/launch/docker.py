"""Minimal client of the Docker Engine API to start and stop containers, over a Unix or TCP socket.

It keeps no state: every call opens a connection, and containers are identified by name.
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
_NOT_RUNNING = (404, 409)


class _Problem(msgspec.Struct):
    message: str = ""


class _Created(msgspec.Struct):
    Id: str


class _Waited(msgspec.Struct):
    StatusCode: int


class _State(msgspec.Struct):
    Running: bool = False
    ExitCode: int = 0
    OOMKilled: bool = False


class _Inspected(msgspec.Struct):
    State: _State


@dataclass(frozen=True)
class ContainerSpec:
    """Specification of a container."""

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
        scheme, _, self._address = address.partition("://")
        if scheme not in ("unix", "tcp") or not self._address:
            raise UsageError(f"invalid address of Docker {address!r}; expected {DEFAULT} or tcp://HOST:PORT")
        self._unix = scheme == "unix"
        self._prefix: str | None = None

    def create(self, name: str, spec: ContainerSpec) -> str:
        """Creates a container without starting it. Returns its id."""
        data = self._call("POST", f"/containers/create?{urlencode({'name': name})}", spec.body())
        return msgspec.json.decode(data, type=_Created).Id

    def start(self, name: str) -> None:
        self._call("POST", f"/containers/{quote(name)}/start")

    def wait(self, name: str) -> int:
        """Waits until it exits. Returns its exit code."""
        return msgspec.json.decode(
            self._call("POST", f"/containers/{quote(name)}/wait", wait=True), type=_Waited
        ).StatusCode

    def stop(self, name: str, grace_s: int) -> None:
        """Sends SIGTERM, and SIGKILL after `grace_s`."""
        self._call("POST", f"/containers/{quote(name)}/stop?t={grace_s}", accepted=(*_NOT_RUNNING, 304))

    def kill(self, name: str, signal: str = "SIGKILL") -> None:
        self._call("POST", f"/containers/{quote(name)}/kill?signal={signal}", accepted=_NOT_RUNNING)

    def remove(self, name: str) -> None:
        """Kills and removes it. Does nothing if it does not exist."""
        self._call("DELETE", f"/containers/{quote(name)}?force=true&v=true", accepted=(404,))

    def running(self, name: str) -> tuple[bool, int]:
        """Whether it is running, and its exit code if not."""
        state = self._state(name)
        return state.Running, state.ExitCode

    def oom_killed(self, name: str) -> bool:
        """Whether a process in it was OOM-killed."""
        return self._state(name).OOMKilled

    def _state(self, name: str) -> _State:
        return msgspec.json.decode(self._call("GET", f"/containers/{quote(name)}/json"), type=_Inspected).State

    def last_output(self, name: str, lines: int) -> bytes:
        """The last lines of its stdout and stderr."""
        asked = urlencode({"stdout": "true", "stderr": "true", "tail": lines})
        return b"".join(_frames(self._call("GET", f"/containers/{quote(name)}/logs?{asked}", accepted=(404,))))

    def _call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        accepted: Sequence[int] = (),
        wait: bool = False,
    ) -> bytes:
        if self._prefix is None:
            self._prefix = self._version()
        status, data = self._request(method, self._prefix + path, body, None if wait else CALL_S)[:2]
        if status >= 300 and status not in accepted:
            raise DockerFailed(f"Docker refused {method} {path.partition('?')[0]}: {_message(data)}", status)
        return data if status < 300 else b""

    def _version(self) -> str:
        """The API version of the engine. Calls without a version are deprecated."""
        status, _, version = self._request("GET", "/_ping", None, CALL_S)
        if status != 200:
            raise DockerFailed(f"the server at {self._address} is not a Docker engine", status)
        return f"/v{version}" if version else ""

    def _request(self, method: str, path: str, body: object, timeout: float | None) -> tuple[int, bytes, str]:
        connection = self._connection(timeout)
        try:
            data = b"" if body is None else msgspec.json.encode(body)
            connection.request(method, path, data, {"Content-Type": "application/json"} if data else {})
            reply = connection.getresponse()
            return reply.status, reply.read(), reply.headers.get("Api-Version", "")
        except (OSError, http.client.HTTPException) as problem:
            why = str(problem) or type(problem).__name__
            raise DockerFailed(f"Docker at {self._address} does not answer: {why}") from None
        finally:
            connection.close()

    def _connection(self, timeout: float | None) -> http.client.HTTPConnection:
        if self._unix:
            return _UnixConnection(self._address, timeout)
        return http.client.HTTPConnection(self._address, timeout=timeout)


def _message(data: bytes) -> str:
    try:
        return msgspec.json.decode(data, type=_Problem).message
    except msgspec.MsgspecError:
        return data[:200].decode(errors="replace")


def _frames(data: bytes) -> Iterator[bytes]:
    """Payloads of the multiplexed log stream. A frame header is: stream (1 byte), padding (3), length (4)."""
    at = 0
    while at + 8 <= len(data):
        size = int.from_bytes(data[at + 4 : at + 8], "big")
        yield data[at + 8 : at + 8 + size]
        at += 8 + size
