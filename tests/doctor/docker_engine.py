"""A test container engine that implements the part of the Docker API that Cauce uses, on a Unix socket. Its containers
are local processes: the program of the image is the `cauce` command."""

from __future__ import annotations

import json
import os
import re
import signal
import socketserver
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import TracebackType
from urllib.parse import parse_qs, urlsplit

VERSION = "1.47"
IMAGE = "cauce:test"


@dataclass
class Container:
    name: str
    spec: dict[str, object]
    log: Path
    process: subprocess.Popen[bytes] | None = None
    oom_killed: bool = False
    ended: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        env = {**os.environ, **dict(str(each).split("=", 1) for each in list(self.spec["Env"]))}  # type: ignore[call-overload]
        program = [sys.executable, *map(str, list(self.spec["Cmd"]))]  # type: ignore[call-overload]
        if self.spec["Image"] == IMAGE:
            program[1:1] = ["-m", "cauce"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                program, env=env, cwd=self.log.parent, stdout=log, stderr=log, start_new_session=True
            )
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        assert self.process is not None
        self.process.wait()
        self.ended.set()

    @property
    def running(self) -> bool:
        return self.process is not None and not self.ended.is_set()

    @property
    def code(self) -> int:
        code = self.process.returncode if self.process is not None else 0
        return code if code is None or code >= 0 else 128 - code

    def signal(self, number: int) -> None:
        if self.running:
            assert self.process is not None
            self.process.send_signal(number)

    def stop(self, grace_s: float) -> None:
        self.signal(signal.SIGTERM)
        if not self.ended.wait(grace_s):
            self.signal(signal.SIGKILL)
            self.ended.wait()


class Engine:
    """Serves until the `with` block exits, then kills all containers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "engine.sock"
        self.address = f"unix://{self.path}"
        self.containers: dict[str, Container] = {}
        self.asked: list[str] = []
        self.lock = threading.Lock()

    def __enter__(self) -> Engine:
        engine = self

        class Handler(_Handler):
            of = engine

        self._server = _Server(str(self.path), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        for each in self.containers.values():
            each.signal(signal.SIGKILL)


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class _Handler(BaseHTTPRequestHandler):
    of: Engine
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        return

    def address_string(self) -> str:
        return "local"

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        size = int(self.headers.get("Content-Length", "0"))
        body = json.loads(self.rfile.read(size)) if size else {}
        if parts.path == "/_ping":
            return self._say(200, b"OK", "text/plain")
        found = re.fullmatch(r"/v(\d+\.\d+)/containers/(\w[\w.-]*)(?:/(\w+))?", parts.path)
        if found is None or found[1] != VERSION:
            return self._fail(404, "page not found")
        self.of.asked.append(f"{self.command} {found[2]} {found[3] or ''}".strip())
        if (self.command, found[2]) == ("POST", "create"):
            return self._create(query["name"], body)
        with self.of.lock:
            container = self.of.containers.get(found[2])
        if container is None:
            return self._fail(404, f"No such container: {found[2]}")
        return self._do(container, f"{self.command} {found[3] or ''}".strip(), query)

    do_GET = do_POST = do_DELETE = _handle  # noqa: N815

    def _create(self, name: str, spec: dict[str, object]) -> None:
        with self.of.lock:
            if name in self.of.containers:
                return self._fail(409, f'Conflict. The container name "/{name}" is already in use')
            self.of.containers[name] = Container(name, spec, self.of.folder / f"{name}.log")
        return self._json(201, {"Id": f"id-{name}", "Warnings": []})

    def _do(self, container: Container, what: str, query: dict[str, str]) -> None:
        match what:
            case "POST start":
                container.start()
                self._say(204)
            case "POST wait":
                container.ended.wait()
                self._json(200, {"StatusCode": container.code})
            case "POST stop":
                container.stop(float(query.get("t", "10")))
                self._say(204)
            case "POST kill":
                if not container.running:
                    return self._fail(409, f"container {container.name} is not running")
                container.signal(getattr(signal, query.get("signal", "SIGKILL")))
                self._say(204)
            case "DELETE":
                container.signal(signal.SIGKILL)
                with self.of.lock:
                    self.of.containers.pop(container.name, None)
                self._say(204)
            case "GET json":
                state = {"Running": container.running, "ExitCode": container.code or 0}
                self._json(200, {"State": {**state, "OOMKilled": container.oom_killed}})
            case "GET logs":
                lines = container.log.read_bytes().splitlines(keepends=True)[-int(query["tail"]) :]
                framed = b"".join(b"\x02\0\0\0" + len(line).to_bytes(4, "big") + line for line in lines)
                self._say(200, framed, "application/vnd.docker.multiplexed-stream")
            case _:
                self._fail(404, "page not found")
        return None

    def _json(self, status: int, body: object) -> None:
        self._say(status, json.dumps(body).encode(), "application/json")

    def _fail(self, status: int, message: str) -> None:
        self._json(status, {"message": message})

    def _say(self, status: int, body: bytes = b"", media: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Api-Version", VERSION)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
