"""Malformed and malicious requests, generated from a seed, and a client that sends them byte for byte."""

from __future__ import annotations

import gzip
import io
import json
import random
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from tests.service.test_http_status import BOOK

METHODS = ("GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "CONNECT")
NAMES = (
    "..", "../..", "../../etc/passwd", "%2e%2e", "%2e%2e%2f%2e%2e", "..%5c..", ".", "%00", "a%00b", "a b", "a%20b", "~",
    "*", "a;b", "a'b", 'a"b', "${x}", "{{7*7}}", "%", "%zz", "%C3%28", "%F0%9F%92%A9", "CON", "service", "local.x",
    "-", "_", "a" * 64, "a" * 65, "a" * 5000, "q1", "books", "0", "-1", "1e9", str(2**31), str(2**63), str(2**64),
    "NaN", "null", "undefined", "job", "jobs", "tables", "a/../b", "//", "a//b", "?", "#", "a?b=c", "\t",
)  # fmt: skip
TYPES = (
    "text/csv",
    "application/vnd.apache.arrow.stream",
    "application/vnd.apache.parquet",
    "application/x-ndjson",
    "application/vnd.cauce.reference+json",
    "application/json",
    "multipart/form-data; boundary=x",
    "text/csv; charset=utf-16",
    "",
    "\x7f",
)
ENCODINGS = ("gzip", "zstd", "br", "identity", "gzip, gzip", "x" * 300)
DIGESTS = ("sha-256=:AAAA:", "sha-256=::", "md5=:AAAA:", "sha-256=abc", ":", "sha-256=:" + "A" * 43 + "=:", "=", ",,,")
COLUMNS = ("[]", "[1]", "{}", "x", "%5B%22Title%22%5D", "%5B" * 500, "%FF", "%5B%22" + "a" * 3000 + "%22%5D")
QUERIES = ("cursor", "limit", "wait", "x", "cursor[]", "%00")
VALUES = (
    "",
    "-1",
    "0",
    "1",
    "1e308",
    "nan",
    "inf",
    "9" * 400,
    "0.0",
    "1.1",
    "../..",
    "%00",
    "\u0661",
    "1;2",
    "x" * 400,
)


@dataclass(frozen=True)
class Sent:
    """A request as bytes. `whole` is false for what may not even be HTTP."""

    kind: str
    data: bytes
    method: str = "GET"
    whole: bool = True


class Forge:
    """Makes requests. `jobs` are ids of the sender's, `others` those of somebody else."""

    def __init__(self, seed: int, jobs: list[str], others: list[str], token: str) -> None:
        self._chance = random.Random(seed)
        self._jobs = jobs
        self._others = others
        self._token = token
        self._bodies = _bodies()

    def stream(self) -> Iterator[Sent]:
        kinds: list[tuple[str, Callable[[], Sent]]] = [
            ("path", self._path),
            ("name", self._name),
            ("method", self._method),
            ("json", self._json),
            ("headers", self._headers),
            ("part", self._part),
            ("mutant", self._mutant),
            ("token", self._wrong_token),
            ("other", self._others_job),
            ("page", self._page),
            ("garbage", self._garbage),
        ]
        while True:
            yield self._chance.choice(kinds)[1]()

    def _pick(self, choices: tuple[str, ...] | list[str]) -> str:
        return self._chance.choice(choices)

    def _some(self, most: int) -> bytes:
        return self._chance.randbytes(self._chance.randrange(most))

    def _request(
        self,
        kind: str,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: list[tuple[str, str]] | None = None,
        token: str | None = None,
    ) -> Sent:
        used = self._token if token is None else token
        lines = [("Host", "localhost"), *([("Authorization", f"Bearer {used}")] if used else []), *(headers or [])]
        if body is not None:
            lines.append(("Content-Length", str(len(body))))
        request = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines) + "\r\n"
        return Sent(kind, request.encode("utf-8", "surrogateescape") + (body or b""), method)

    def _path(self) -> Sent:
        parts = [self._pick(NAMES) for _ in range(self._chance.randrange(7))]
        lead = self._pick(["/", "/v1/", "/v1/jobs/", "/v1/jobs/../", "//", "/openapi.json/", "/metrics/", "http://x/"])
        return self._request("path", "GET", lead + "/".join(parts))

    def _name(self) -> Sent:
        job = self._pick([*NAMES, *self._jobs])
        table, query, seq = (self._pick(NAMES) for _ in range(3))
        path = self._pick(
            [
                f"/v1/jobs/{job}",
                f"/v1/jobs/{job}/results/{query}",
                f"/v1/jobs/{job}/tables/{table}",
                f"/v1/jobs/{job}/tables/{table}/parts/{seq}",
                f"/v1/jobs/{job}/tables/{table}/complete",
                f"/v1/jobs/{job}/why",
                f"/v1/jobs/{job}/rejects",
            ]
        )
        method = self._pick(("GET", "PUT", "DELETE", "POST", "HEAD"))
        if method == "DELETE" and job in self._jobs:
            method = "GET"
        body = BOOK if method in ("PUT", "POST") else None
        return self._request("name", method, path, body, [("Content-Type", self._pick(TYPES[:6]))])

    def _method(self) -> Sent:
        path = self._pick(
            ["/v1/jobs", "/healthz", "/metrics", "/openapi.json", f"/v1/jobs/{self._pick(self._jobs)}/why"]
        )
        method = self._pick(METHODS)
        return self._request("method", method, path, self._some(50) if self._chance.random() < 0.3 else None)

    def _json(self) -> Sent:
        good = json.dumps({"dataset": "books", "queries": ["q1"], "parameters": {"sentiment": "vader"}}).encode()
        body = self._chance.choice(
            [
                self._some(300),
                good[: self._chance.randrange(len(good))],
                b"[" * self._chance.randrange(1, 20_000),
                b'{"dataset":' * self._chance.randrange(1, 5_000),
                json.dumps({"dataset": self._pick(NAMES)}).encode(),
                json.dumps({"dataset": "books", "queries": [self._pick(NAMES)] * 3}).encode(),
                json.dumps({"dataset": "books", "parameters": {self._pick(NAMES): self._pick(VALUES)}}).encode(),
                b'{"parts": %d}' % self._chance.choice([-1, 0, 2**31, 2**63, 2**64, 10**100]),
                b'{"parts": 1e400}',
                b'{"dataset": "\\ud800"}',
                b'"' + b"a" * 50_000 + b'"',
                self._changed(good),
            ]
        )
        job = self._pick(self._jobs)
        path = self._pick([f"/v1/jobs/{job}-{self._chance.randrange(10)}", f"/v1/jobs/{job}/tables/books/complete"])
        method = "POST" if path.endswith("complete") else "PUT"
        return self._request("json", method, path, body, [("Content-Type", "application/json")])

    def _headers(self) -> Sent:
        names = ["X-Long", "Cookie", "Accept", "Accept-Encoding", "Range", "If-Match", "Content-Encoding", "Connection"]
        names += ["X-Forwarded-For", "Transfer-Encoding", "Expect", "Upgrade", "TE", "Content-Digest", "Cauce-File"]
        made = []
        for _ in range(self._chance.randrange(1, 30)):
            size = self._chance.choice([1, 10, 100, 1000, 10_000])
            letters = "".join(chr(self._chance.randrange(33, 126)) for _ in range(min(size, 40)))
            made.append((self._pick(names), (letters * (size // 40 + 1))[:size]))
        sent = self._request("headers", "GET", "/v1/jobs", None, made)
        return Sent("headers", sent.data, whole=False)

    def _part(self) -> Sent:
        """Random bytes as each of the types."""
        headers = [("Content-Type", self._pick(TYPES[:6]))]
        if self._chance.random() < 0.3:
            headers.append(("Content-Encoding", self._pick(ENCODINGS)))
        if self._chance.random() < 0.3:
            headers.append(("Content-Digest", self._pick(DIGESTS)))
        if self._chance.random() < 0.2:
            headers.append(("Cauce-Columns", self._pick(COLUMNS)))
        if self._chance.random() < 0.2:
            headers.append(("Cauce-First-Line", self._pick(("0", "1", "-1", "x", str(2**62), str(2**64)))))
        if self._chance.random() < 0.2:
            headers.append(("Cauce-File", quote(self._pick(NAMES))))
        return self._to_part("part", self._some(2000), headers)

    def _mutant(self) -> Sent:
        """A good part in which some bytes are others."""
        kind, encoding, body = self._chance.choice(self._bodies)
        headers = [("Content-Type", kind), *([("Content-Encoding", encoding)] if encoding else [])]
        return self._to_part("mutant", self._changed(body), headers)

    def _to_part(self, kind: str, body: bytes, headers: list[tuple[str, str]]) -> Sent:
        # Numbers of which a later test needs none.
        path = f"/v1/jobs/{self._pick(self._jobs)}/tables/books/parts/{self._chance.randrange(1000, 900_000)}"
        return self._request(kind, "PUT", path, body, headers)

    def _wrong_token(self) -> Sent:
        token = self._chance.choice(
            ["x", "cauce_", "cauce_" + "a" * 43, self._token[:-1], self._token + "a", self._token.upper(), "\xff" * 43]
        )
        return self._request("token", "GET", f"/v1/jobs/{self._pick(self._jobs)}", token=token)

    def _others_job(self) -> Sent:
        job = self._pick(self._others)
        more = self._pick(["", "/why", "/events", "/rejects", "/results/q1", "/tables/books"])
        return self._request("other", self._pick(("GET", "GET", "HEAD", "DELETE")), f"/v1/jobs/{job}{more}")

    def _page(self) -> Sent:
        asked = "&".join(f"{self._pick(QUERIES)}={quote(self._pick(VALUES))}" for _ in range(3))
        # Long polls that are in order take their time.
        asked = asked.replace("wait=1&", "wait=0&").removesuffix("wait=1") + "&wait=-1"
        path = f"/v1/jobs/{self._pick(self._jobs)}/{self._pick(['results/q1', 'rejects', 'results/q9'])}?{asked}"
        return self._request("page", "GET", path, None, [("Accept", self._pick(["*/*", "a/b", ";;;", "text/csv;q=x"]))])

    def _garbage(self) -> Sent:
        good = self._request("garbage", "PUT", "/v1/jobs/x", b"{}").data
        data = self._chance.choice(
            [
                self._some(200) + b"\r\n\r\n",
                self._changed(good),
                good.replace(b"HTTP/1.1", b"HTTP/9.9"),
                good.replace(b"Content-Length: 2", b"Content-Length: 2\r\nTransfer-Encoding: chunked"),
                good.replace(b"Content-Length: 2", b"Content-Length: 99999999999999999999"),
                good.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n"),
                b"GET / HTTP/1.1\r\n" + b"A" * 70_000,
                b"GET /" + b"a" * 10_000 + b" HTTP/1.1\r\n\r\n",
                b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 9_000 + b"\r\n",
                b"\x16\x03\x01\x02\x00\x01\x00",
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            ]
        )
        return Sent("garbage", data, whole=False)

    def _changed(self, data: bytes) -> bytes:
        held = bytearray(data)
        for _ in range(self._chance.choice([1, 1, 2, 8])):
            if not held:
                break
            place = self._chance.randrange(len(held))
            match self._chance.randrange(4):
                case 0:
                    held[place] = self._chance.randrange(256)
                case 1:
                    del held[place : place + self._chance.randrange(1, 20)]
                case 2:
                    held[place:place] = self._some(20)
                case _:
                    held[place : place + 4] = self._chance.choice([b"\xff" * 4, b"\0" * 4, b"\x7f\xff\xff\xff"])
        return bytes(held)


def _bodies() -> list[tuple[str, str, bytes]]:
    """A good part in each form."""
    columns = ("Title", "publishedDate", "authors", "categories", "publisher")
    table = pa.table({name: ["x", "y", None] * 10 for name in columns})
    arrow, parquet = io.BytesIO(), io.BytesIO()
    with pa.ipc.new_stream(arrow, table.schema) as writer:
        writer.write_table(table)
    pq.write_table(table, parquet)
    lines = "".join(json.dumps(dict.fromkeys(columns, "x")) + "\n" for _ in range(10)).encode()
    zstd = pa.compress(BOOK * 5, "zstd", asbytes=True)
    refers = {"path": "/etc/passwd", "start": 0, "end": 99, "first_line": 2, "header": list(columns)}
    return [
        ("text/csv", "", BOOK * 5),
        ("text/csv", "gzip", gzip.compress(BOOK * 5)),
        ("text/csv", "zstd", bytes(zstd)),
        ("application/x-ndjson", "", lines),
        ("application/x-ndjson", "gzip", gzip.compress(lines)),
        ("application/vnd.apache.arrow.stream", "", arrow.getvalue()),
        ("application/vnd.apache.parquet", "", parquet.getvalue()),
        ("application/vnd.cauce.reference+json", "", json.dumps(refers).encode()),
    ]


class Wire:
    """One connection, opened anew when the other side has ended it."""

    def __init__(self, port: int, patience_s: float = 60.0) -> None:
        self._port = port
        self._patience_s = patience_s
        self._socket: socket.socket | None = None

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def send(self, sent: Sent) -> tuple[int, bytes, bytes]:
        """Status, head and body of the answer. Status 0: the other side ended the connection without a word."""
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port), self._patience_s)
        try:
            self._socket.sendall(sent.data)
            if not sent.whole:
                # What the other side may still wait for will not come.
                self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        try:
            status, head, body = self._read(self._socket, sent.method)
        except OSError as problem:
            if isinstance(problem, TimeoutError):
                raise
            status, head, body = 0, b"", b""
        if not sent.whole or status in (0, 400) or b"connection: close" in head.lower():
            self.close()
        return status, head, body

    def _read(self, connection: socket.socket, method: str) -> tuple[int, bytes, bytes]:
        got = b""
        while b"\r\n\r\n" not in got:
            data = connection.recv(65536)
            if not data:
                return 0, got, b""
            got += data
        head, _, body = got.partition(b"\r\n\r\n")
        status = int(head[9:12])
        if status == 100:
            return self._read(connection, method)
        low = head.lower()
        if method == "HEAD":
            return status, head, b""
        if b"transfer-encoding: chunked" in low:
            while not body.endswith(b"0\r\n\r\n"):
                data = connection.recv(65536)
                if not data:
                    break
                body += data
            return status, head, body
        length = int(low.partition(b"content-length: ")[2].partition(b"\r\n")[0] or b"0")
        while len(body) < length:
            data = connection.recv(65536)
            if not data:
                break
            body += data
        return status, head, body
