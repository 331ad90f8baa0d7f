"""A gateway in a thread that keeps everything in memory and fails on request: for the failures that a real
one would have to be forced into. It computes nothing; what it answers is put there by the test."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import re
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal
from urllib.parse import parse_qs, unquote, urlsplit

import pyarrow as pa

PART = re.compile(r"/v1/jobs/([^/]+)/tables/([^/]+)/parts/(\d+)")
COMPLETE = re.compile(r"/v1/jobs/([^/]+)/tables/([^/]+)/complete")
TABLE = re.compile(r"/v1/jobs/([^/]+)/tables/([^/]+)")
PARTS = re.compile(r"/v1/jobs/([^/]+)/tables/([^/]+)/parts")
FORMS = {"text/csv": "csv", "application/vnd.apache.arrow.stream": "arrow"}
PAGE = 5
"""Receipts in a page: few, so that there are several pages."""
RESULT = re.compile(r"/v1/jobs/([^/]+)/results/([^/]+)")
JOB = re.compile(r"/v1/jobs/([^/]+)(?:/(events|why|rejects))?")

What = Literal["drop", "forget", "refuse", "slow", "torn"]


@dataclass
class Fault:
    """Befalls the next requests whose method and path match. `drop` closes before the body is read, `forget` does
    the work and closes without an answer, `torn` breaks off in the middle of the answer."""

    match: str
    what: What
    times: int = 1
    status: int = 503
    code: str = "unavailable"
    retry_after: str | None = None
    seconds: float = 0.0


@dataclass
class Seen:
    method: str
    path: str
    at: float
    headers: dict[str, str]
    status: int = 0


@dataclass
class Part:
    body: bytes
    headers: dict[str, str]


@dataclass
class Table:
    parts: dict[int, Part] = field(default_factory=dict)
    complete: int | None = None

    def content(self) -> bytes:
        return b"".join(self.parts[seq].body for seq in sorted(self.parts))


@dataclass
class FakeJob:
    request: dict[str, Any]
    tables: dict[str, Table] = field(default_factory=dict)
    state: str = "receiving"
    cause: str = ""
    answers: dict[str, list[list[Any]]] = field(default_factory=dict)


class Fake:
    """One gateway, or several on the same memory with `beside`."""

    def __init__(self, beside: Fake | None = None, token: str | None = None) -> None:
        self.jobs: dict[str, FakeJob] = beside.jobs if beside else {}
        self.faults: list[Fault] = []
        self.seen: list[Seen] = []
        self.token = token
        self.keep_bodies = True
        self.page_jobs = 1000
        """How many jobs a page of the list has."""
        self.lock: threading.RLock = beside.lock if beside else threading.RLock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.fake = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Fake:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    def fail(self, match: str, what: What, **more: Any) -> None:
        self.faults.append(Fault(match, what, **more))

    def count(self, match: str, *statuses: int) -> int:
        with self.lock:
            return sum(
                bool(re.search(match, f"{each.method} {each.path}")) and (not statuses or each.status in statuses)
                for each in self.seen
            )

    def take_fault(self, line: str) -> Fault | None:
        with self.lock:
            for fault in self.faults:
                if fault.times > 0 and re.search(fault.match, line):
                    fault.times -= 1
                    return fault
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    fake: Fake

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that went away are part of the game."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def setup(self) -> None:
        super().setup()
        self.request.setsockopt(6, 1, 1)

    def _handle(self) -> None:
        fake = self.server.fake
        self._noted = Seen(self.command, self.path, time.monotonic(), dict(self.headers.items()))
        with fake.lock:
            fake.seen.append(self._noted)
        fault = fake.take_fault(f"{self.command} {self.path}")
        if fault is not None and fault.what == "drop":
            self._hang_up()
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if fault is not None and fault.what == "slow":
            time.sleep(fault.seconds)
        if fault is not None and fault.what == "refuse":
            more = {} if fault.retry_after is None else {"Retry-After": fault.retry_after}
            self._problem(fault.status, fault.code, more)
            return
        self._torn = fault is not None and fault.what == "torn"
        self._mute = fault is not None and fault.what == "forget"
        if fake.token is not None and self.headers.get("Authorization") != f"Bearer {fake.token}":
            self._problem(401, "no-token")
            return
        with fake.lock:
            self._route(fake, urlsplit(self.path).path, body)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _handle  # noqa: N815

    def _list(self, fake: Fake) -> None:
        statuses = [self._status(name) for name in fake.jobs]
        first = int(parse_qs(urlsplit(self.path).query).get("cursor", ["0:"])[0].removesuffix(":"))
        last = first + fake.page_jobs
        self._json(200, {"jobs": statuses[first:last], "next": f"{last}:" if last < len(statuses) else None})

    def _route(self, fake: Fake, path: str, body: bytes) -> None:
        if path == "/v1/jobs":
            self._list(fake)
        elif found := PART.fullmatch(path):
            self._part(fake, found[1], found[2], int(found[3]), body)
        elif found := COMPLETE.fullmatch(path):
            self._complete(fake.jobs[found[1]].tables.setdefault(found[2], Table()), json.loads(body)["parts"])
        elif found := PARTS.fullmatch(path):
            self._parts(fake.jobs[found[1]].tables.get(found[2], Table()))
        elif found := TABLE.fullmatch(path):
            self._held(fake.jobs[found[1]].tables.get(found[2], Table()))
        elif found := RESULT.fullmatch(path):
            self._result(fake.jobs[found[1]], unquote(found[2]))
        elif found := JOB.fullmatch(path):
            self._job(fake, found[1], found[2], body)
        else:
            self._problem(404, "not-found")

    def _job(self, fake: Fake, name: str, what: str | None, body: bytes) -> None:
        if self.command == "PUT":
            new = name not in fake.jobs
            job = fake.jobs.setdefault(name, FakeJob(json.loads(body)))
            if job.request != json.loads(body):
                self._problem(409, "job-exists-otherwise")
                return
            self._json(201 if new else 200, self._status(name))
        elif name not in fake.jobs:
            self._problem(404, "no-such-job")
        elif self.command == "DELETE":
            fake.jobs[name].state = "cancelled"
            self._json(200, self._status(name))
        elif what == "why":
            self._json(200, {"why": "waits for the test"})
        elif what == "events":
            event = f": hello\n\nevent: status\ndata: {json.dumps(self._status(name))}\n\n"
            self._answer(200, event.encode(), "text/event-stream")
        else:
            self._json(200, self._status(name))

    def _part(self, fake: Fake, name: str, table: str, seq: int, body: bytes) -> None:
        digest = self.headers.get("Content-Digest")
        if digest and digest != f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:":
            self._problem(422, "bad-part")
            return
        if name not in fake.jobs:
            self._problem(404, "no-such-job")
            return
        held = fake.jobs[name].tables.setdefault(table, Table())
        if seq in held.parts:
            self._json(200, {}) if held.parts[seq].body == body else self._problem(409, "part-differs")
            return
        if held.complete is not None:
            self._problem(409, "table-complete")
            return
        held.parts[seq] = Part(body if fake.keep_bodies else b"", dict(self.headers.items()))
        self._json(201, {})

    def _complete(self, table: Table, parts: int) -> None:
        if sorted(table.parts) != list(range(parts)):
            self._problem(422, "parts-missing")
            return
        table.complete = parts
        self._json(200, {})

    def _parts(self, table: Table) -> None:
        first = int(parse_qs(urlsplit(self.path).query)["from"][0])
        seqs = [seq for seq in sorted(table.parts) if seq >= first]
        page = {"parts": [_receipt(seq, table.parts[seq]) for seq in seqs[:PAGE]], "complete": table.complete}
        self._json(200, page | {"next": seqs[PAGE] if len(seqs) > PAGE else None})

    def _held(self, table: Table) -> None:
        headers = {
            "Cauce-Parts": ",".join(map(str, sorted(table.parts))),
            "Cauce-Count": str(len(table.parts)),
            "Cauce-Bytes": str(sum(len(part.body) for part in table.parts.values())),
        }
        if table.complete is not None:
            headers["Cauce-Complete"] = str(table.complete)
        self._answer(200, b"", "application/json", headers)

    def _result(self, job: FakeJob, query: str) -> None:
        asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        rows = job.answers.get(query, [])
        if not asked:
            lines = "".join(",".join(map(str, row)) + "\n" for row in rows)
            self._answer(200, f"a,b\n{lines}".encode(), "text/csv")
            return
        first, limit = int(asked.get("cursor", 0)), int(asked["limit"])
        complete = first + limit >= len(rows)
        page = {"columns": ["a", "b"], "rows": rows[first : first + limit], "complete": complete}
        self._json(200, page | {"next": None if complete else str(first + limit)})

    def _status(self, name: str) -> dict[str, Any]:
        job = self.server.fake.jobs[name]
        tables = {
            table: {
                "parts": len(held.parts),
                "bytes": len(held.content()),
                "complete": held.complete,
                "parts_read": 0,
                "rows": 0,
                "rejects": 0,
            }
            for table, held in job.tables.items()
        }
        answers = {query: {"pages": 1, "rows": len(rows), "complete": True} for query, rows in job.answers.items()}
        known = {"owner": "local", "dataset": job.request["dataset"], "queries": job.request["queries"]}
        return known | {
            "job": name,
            "state": job.state,
            "cause": job.cause,
            "code": "",
            "created": 1.0,
            "ended": None,
            "expires": None,
            "tables": tables,
            "answers": answers,
        }

    def _json(self, status: int, content: Any) -> None:
        self._answer(status, json.dumps(content).encode(), "application/json")

    def _problem(self, status: int, code: str, headers: dict[str, str] | None = None) -> None:
        problem = {
            "type": f"urn:cauce:{code}",
            "title": code,
            "status": status,
            "code": code,
            "detail": f"it is {code}",
        }
        self._answer(status, json.dumps(problem).encode(), "application/problem+json", headers)

    def _answer(self, status: int, body: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self._noted.status = status
        if getattr(self, "_mute", False):
            self._hang_up()
            return
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) // 2] if getattr(self, "_torn", False) else body)
        if getattr(self, "_torn", False):
            self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.wfile.flush()
            self.connection.shutdown(2)


def _receipt(seq: int, part: Part) -> dict[str, Any]:
    columns = part.headers.get("Cauce-Columns")
    compressed = part.headers.get("Content-Encoding") == "zstd"
    body = pa.CompressedInputStream(io.BytesIO(part.body), "zstd").read() if compressed else part.body
    return {
        "part": seq,
        "bytes": len(part.body),
        "content": hashlib.sha256(body).hexdigest(),
        "size": len(body),
        "form": FORMS[part.headers["Content-Type"]],
        "file": unquote(part.headers["Cauce-File"]),
        "first_line": int(part.headers["Cauce-First-Line"]),
        "columns": "" if columns is None else hashlib.sha256(unquote(columns).encode()).hexdigest()[:16],
    }
