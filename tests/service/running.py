"""A real service or gateway as a process of its own, spoken to over plain HTTP; it does not outlive its block."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

import psutil
import urllib3

from cauce.api.http import COLUMNS, CONTENT_DIGEST, CSV, FILE, FIRST_LINE
from cauce.datasets import load
from cauce.doctor.control import stop_all
from cauce.doctor.launch.service_dir import ServiceDir
from cauce.runner.sinks import prepare
from cauce.scan.reader import parts_of
from tests.cli.running import COLOURS
from tests.service.limits import with_open_files

READY_S = 60.0
ENOUGH_S = 60.0
LONGEST_PAUSE_S = 0.1

Headers = Mapping[str, str]


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Headers
    body: bytes

    def json(self) -> dict[str, object]:
        found = json.loads(self.body)
        assert isinstance(found, dict)
        return found

    @property
    def code(self) -> str:
        """The stable code of a problem."""
        assert self.headers["content-type"] == "application/problem+json", self.body[:300]
        found = self.json()
        assert found["status"] == self.status
        assert found["detail"]
        assert found["title"]
        return str(found["code"])

    @property
    def what(self) -> tuple[int, str]:
        return self.status, self.code


class Running:
    """`cauce serve` or `cauce gateway` on a free port of loopback."""

    def __init__(
        self, folder: Path, command: str, *options: str, port: int = 0, token: str = "", open_files: int = 0
    ) -> None:
        self.folder = folder / "service"
        self.token = token
        self._command = command
        self._log = folder / f"log-{time.monotonic_ns()}"
        environment = {name: value for name, value in os.environ.items() if name not in COLOURS}
        given = [command, "--dir", str(self.folder), "--port", str(port), *options]
        # A test run that is killed must not leave a service behind.
        given += ["--end-with", str(os.getpid())] if command == "serve" else []
        started = [sys.executable, "-m", "cauce", *given]
        if open_files:
            started = with_open_files(started, open_files)
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(started, env=environment, stdout=subprocess.PIPE, stderr=log)
        self.url = self._wait_ready()
        self.http = urllib3.PoolManager(num_pools=4, maxsize=64, retries=False, timeout=urllib3.Timeout(60.0))

    def _wait_ready(self) -> str:
        assert self.process.stdout is not None
        output = b""
        due = time.monotonic() + READY_S
        while (found := re.search(rb"ready on (https?://\S+)\n", output)) is None:
            readable, _, _ = select.select([self.process.stdout], [], [], max(due - time.monotonic(), 0))
            more = os.read(self.process.stdout.fileno(), 4096) if readable else b""
            if not more:
                self.kill()
                raise AssertionError(f"it did not start: {output!r} {self.log_text()}")
            output += more
        return found[1].decode()

    def __enter__(self) -> Running:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> int:
        """Its exit code after SIGTERM."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30.0)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
        self._close()
        return self.process.returncode

    def kill(self) -> None:
        """It and all that it has started."""
        self.process.kill()
        self.process.wait()
        if self._command == "serve":
            end_service(self.folder)
        self._close()

    def _close(self) -> None:
        if self.process.stdout is not None:
            self.process.stdout.close()

    def log_text(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def events(self, name: str) -> list[dict[str, object]]:
        """The lines of its log about this."""
        lines = [json.loads(line) for line in self.log_text().splitlines() if line.startswith("{")]
        return [line for line in lines if line["event"] == name]

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def children(self, title: str) -> list[int]:
        found = []
        for child in psutil.Process(self.process.pid).children(recursive=True):
            try:
                if child.cmdline() and child.cmdline()[0].startswith(title):
                    found.append(child.pid)
            except psutil.NoSuchProcess:
                continue
        return found

    def rss(self) -> int:
        own = psutil.Process(self.process.pid)
        return sum(each.memory_info().rss for each in [own, *own.children(recursive=True)])

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | Iterator[bytes] | None = None,
        headers: Headers | None = None,
        *,
        token: str | None = None,
    ) -> Reply:
        used = self.token if token is None else token
        sent = {**({"Authorization": f"Bearer {used}"} if used else {}), **(headers or {})}
        found = self.http.request(method, self.url + path, body=body, headers=sent, redirect=False)
        return Reply(found.status, found.headers, found.data)

    def get(self, path: str, accept: str = "*/*") -> Reply:
        return self.ask("GET", path, headers={"Accept": accept})

    def send_json(self, method: str, path: str, content: object) -> Reply:
        return self.ask(method, path, json.dumps(content).encode(), {"Content-Type": "application/json"})

    def create(self, job: str, dataset: str = "books", queries: list[str] | None = None) -> Reply:
        return self.send_json("PUT", f"/v1/jobs/{job}", {"dataset": dataset, "queries": queries or []})

    def put(self, job: str, piece: Piece, **more: str) -> Reply:
        path = f"/v1/jobs/{job}/tables/{piece.table}/parts/{piece.seq}"
        return self.ask("PUT", path, piece.body, {**piece.headers, **more})

    def complete(self, job: str, table: str, parts: int) -> Reply:
        return self.send_json("POST", f"/v1/jobs/{job}/tables/{table}/complete", {"parts": parts})

    def upload(self, job: str, pieces: list[Piece]) -> None:
        for piece in pieces:
            assert self.put(job, piece).status in (200, 201)
        for table in dict.fromkeys(piece.table for piece in pieces):
            assert self.complete(job, table, sum(piece.table == table for piece in pieces)).status == 200

    def state(self, job: str) -> str:
        return str(self.get(f"/v1/jobs/{job}").json()["state"])

    def wait_done(self, job: str) -> None:
        until(f"the end of {job}", lambda: self.state(job) not in ("created", "receiving", "running"))
        assert self.state(job) == "done", self.get(f"/v1/jobs/{job}").body


def end_service(folder: Path) -> None:
    """Whatever of a service still runs on this host: it outlives who started it."""
    home = ServiceDir(folder)
    if home.find_cluster() is not None:
        stop_all(home, lambda _: None)


@dataclass(frozen=True)
class Piece:
    """A part of a CSV file as a client sends it."""

    table: str
    seq: int
    body: bytes
    headers: Headers


def pieces_of(dataset: str, data: Path, part_bytes: int = 2**16, queries: list[str] | None = None) -> list[Piece]:
    prepared = prepare(load(dataset), data, queries)
    found: list[Piece] = []
    for spec in prepared.plan.tables:
        for part in parts_of(prepared.files[spec.name], spec, part_bytes, False):
            body = Path(part.file.path).read_bytes()[part.start : part.end]
            headers = {
                "Content-Type": CSV,
                FILE: quote(part.file.name),
                FIRST_LINE: str(part.first_line),
                COLUMNS: quote(json.dumps(part.header)),
                CONTENT_DIGEST: digest(body),
            }
            found.append(Piece(spec.name, part.seq, body, headers))
    return found


def digest(body: bytes) -> str:
    return f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"


def until(what: str, holds: Callable[[], bool], within_s: float = ENOUGH_S) -> float:
    """Waits for something that is bound to happen; returns how long it took."""
    started = time.monotonic()
    pause_s = 0.01
    while not holds():
        assert time.monotonic() - started < within_s, f"{what}: not within {within_s:.0f} s"
        time.sleep(pause_s)
        # Looking often takes time from what is awaited.
        pause_s = min(1.2 * pause_s, LONGEST_PAUSE_S)
    return time.monotonic() - started
