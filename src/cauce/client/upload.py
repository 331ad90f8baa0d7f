"""Sends tables in numbered parts: a window of them at a time, over a few connections, and none that is held already.

Memory is bounded by the window: a piece is cut only when there is room for it, and read from its file when it is sent.
"""

from __future__ import annotations

import base64
import hashlib
import queue
import threading
import time
from collections.abc import Container, Sequence
from dataclasses import dataclass
from urllib.parse import quote

import msgspec
import pyarrow as pa

from cauce.client.settings import OnProgress, Sent, Settings
from cauce.client.sources import Piece, Range, Room, Source
from cauce.client.transport import Body, Stopped, Transport
from cauce.errors import JobFailed, Refused
from cauce.wire.http import BYTES, COMPLETE, CONTENT_DIGEST, CSV, JSON, PARTS

ZSTD_LEVEL = 1
POLL_S = 0.1
FAREWELL_S = 2.0


class Held(msgspec.Struct, frozen=True):
    """What the service holds of a table."""

    ranges: tuple[tuple[int, int], ...] = ()
    bytes: int = 0
    complete: int | None = None

    def __contains__(self, seq: object) -> bool:
        return any(first <= seq <= last for first, last in self.ranges) if isinstance(seq, int) else False


def table_path(job: str, table: str) -> str:
    return f"/v1/jobs/{quote(job, safe='')}/tables/{quote(table, safe='')}"


def held_of(transport: Transport, job: str, table: str) -> Held:
    headers = transport.request("HEAD", table_path(job, table)).headers
    return Held(parse_ranges(headers.get(PARTS, "")), int(headers.get(BYTES, 0)), _number(headers.get(COMPLETE)))


def _number(text: str | None) -> int | None:
    return int(text) if text else None


def parse_ranges(text: str) -> tuple[tuple[int, int], ...]:
    """`0-12,14` as pairs of first and last."""
    pairs = [each.strip().partition("-") for each in text.split(",") if each.strip()]
    return tuple((int(first), int(last or first)) for first, _, last in pairs)


class _Table:
    """A table on its way."""

    def __init__(self, source: Source, held: Held | None) -> None:
        self.source = source
        self.name = source.spec.name
        self.held: Container[int] = held or ()
        self.resumed = held is not None
        self.parts: int | None = None
        """How many it has, once it is cut to its end."""
        self.there = 0
        self.sent = 0
        self.weight = 0
        self.body_bytes = 0


@dataclass(frozen=True)
class _Numbered:
    table: _Table
    seq: int
    piece: Piece


class Upload:
    """One upload of a job's tables. Whoever calls `run` cuts; threads of this object send."""

    def __init__(
        self,
        transport: Transport,
        job: str,
        sources: Sequence[Source],
        settings: Settings | None = None,
        on_progress: OnProgress | None = None,
        *,
        fresh: bool = False,
    ) -> None:
        self._transport = transport
        self._job = job
        self._sources = sources
        self._settings = settings or Settings()
        self._on_progress = on_progress
        self._fresh = fresh
        """Whether the job was made just now, so that nothing can be held."""
        compress = self._settings.compress
        self._compressed = compress == "zstd" or (compress == "auto" and not transport.loopback)
        # Where nothing leaves the machine, nothing can change on its way.
        self._digests = not transport.loopback
        self._queue: queue.SimpleQueue[_Numbered | None] = queue.SimpleQueue()
        self._room = threading.Semaphore(self._settings.window)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._failure: BaseException | None = None

    def run(self) -> None:
        """Returns when every table is complete at the service."""
        senders = [
            threading.Thread(target=self._send_parts, name=f"sender-{number}", daemon=True)
            for number in range(self._settings.connections)
        ]
        for sender in senders:
            sender.start()
        try:
            for source in self._sources:
                self._cut(source)
            self._dismiss(senders)
            for sender in senders:
                while sender.is_alive():
                    sender.join(POLL_S)
        except Stopped:
            pass
        finally:
            self._stop.set()
            self._dismiss(senders)
            leave_at = time.monotonic() + FAREWELL_S
            for sender in senders:
                sender.join(max(0.0, leave_at - time.monotonic()))
        if self._failure is not None:
            raise self._failure

    def _dismiss(self, senders: Sequence[threading.Thread]) -> None:
        for _ in senders:
            self._queue.put(None)

    def _cut(self, source: Source) -> None:
        held = None if self._fresh else held_of(self._transport, self._job, source.spec.name)
        table = _Table(source, held)
        if held is not None and held.complete is not None:
            table.there, table.weight = held.complete, source.bytes
            self._report(table)
            return
        count = 0
        for seq, piece in enumerate(source.pieces(self._settings.part_bytes)):
            self._queue.put(_Numbered(table, seq, piece))
            count = seq + 1
            # Before the next piece is made, which may hold its bytes already.
            self._wait_for_room()
        with self._lock:
            table.parts = count
            last = table.there == count
        if last:
            self._complete(table)

    def _wait_for_room(self) -> None:
        while not self._room.acquire(timeout=POLL_S):
            if self._stop.is_set():
                raise Stopped
        if self._stop.is_set():
            raise Stopped

    def _send_parts(self) -> None:
        room = Room(self._settings.part_bytes)
        codec = pa.Codec("zstd", compression_level=ZSTD_LEVEL) if self._compressed else None
        try:
            while (part := self._queue.get()) is not None:
                if self._stop.is_set():
                    return
                self._send(part, room, codec)
                self._room.release()
        except Stopped:
            pass
        except BaseException as problem:  # noqa: BLE001  # raised again by whoever called `run`
            with self._lock:
                self._failure = self._failure or problem
            self._stop.set()

    def _send(self, part: _Numbered, room: Room, codec: pa.Codec | None) -> None:
        table, piece = part.table, part.piece
        is_held = part.seq in table.held
        if is_held and codec is None:
            size = len(piece.content)
        else:
            body: Body = piece.content.read(room) if isinstance(piece.content, Range) else piece.content
            headers = {"Content-Type": piece.media_type, **piece.headers}
            if codec is not None and piece.media_type == CSV and len(body):
                body = memoryview(codec.compress(body))
                headers["Content-Encoding"] = "zstd"
            size = len(body)
            if not is_held:
                self._put(part, body, headers)
        with self._lock:
            table.there += 1
            table.sent += not is_held
            table.weight += piece.weight
            table.body_bytes += size
            last = table.there == table.parts
        self._report(table)
        if last:
            self._complete(table)

    def _put(self, part: _Numbered, body: Body, headers: dict[str, str]) -> None:
        if self._digests:
            digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
            headers[CONTENT_DIGEST] = f"sha-256=:{digest}:"
        path = f"{table_path(self._job, part.table.name)}/parts/{part.seq}"
        try:
            self._transport.request("PUT", path, body, headers, stop=self._stop)
        except Refused as refusal:
            if refusal.code == "part-differs":
                raise self._other_data(part.table) from refusal
            raise

    def _complete(self, table: _Table) -> None:
        if table.resumed and held_of(self._transport, self._job, table.name).bytes != table.body_bytes:
            raise self._other_data(table)
        body = msgspec.json.encode({"parts": table.parts})
        path = f"{table_path(self._job, table.name)}/complete"
        self._transport.request("POST", path, body, {"Content-Type": JSON}, stop=self._stop)

    def _other_data(self, table: _Table) -> JobFailed:
        return JobFailed(
            f"what job {self._job} holds of table {table.name} was not cut from these files: they have changed, or "
            "it was begun with others or in another way; send them as a new job, under another id"
        )

    def _report(self, table: _Table) -> None:
        if self._on_progress is None:
            return
        with self._lock:
            self._on_progress(Sent(table.name, table.weight, table.source.bytes, table.there, table.sent))
