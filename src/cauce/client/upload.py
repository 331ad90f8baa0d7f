"""Sends tables in numbered parts: a window of them at a time, over a few connections, and none that is held already.

A part that is held is read and compared with its receipt instead: a job id stands for one input. So the same upload
again, also of a job that has ended, sends nothing and fails where the files differ from those sent before.

Memory is bounded by the window: a piece is cut only when there is room for it, and read from its file when it is sent.
"""

from __future__ import annotations

import base64
import hashlib
import queue
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn
from urllib.parse import quote

import msgspec
import pyarrow as pa

from cauce.client.connection_problems import unreadable
from cauce.client.settings import OnProgress, Sent, Settings
from cauce.client.sources import Piece, Range, Room, Source
from cauce.client.transport import Body, Stopped, Transport
from cauce.errors import InputDiffers, Refused
from cauce.wire.http import CONTENT_DIGEST, CSV, JSON, PART_FORMS
from cauce.wire.part_digest import columns_digest

ZSTD_LEVEL = 1
POLL_S = 0.1
FAREWELL_S = 2.0
CONFLICTS = ("part-differs", "table-complete", "count-differs")
"""Codes of a gateway that holds other data under this job id."""


class HeldPart(msgspec.Struct, frozen=True):
    """The receipt of a part. `content` and `size` are of its body without Content-Encoding."""

    part: int
    bytes: int = 0
    content: str = ""
    size: int = 0
    form: str = ""
    file: str = ""
    first_line: int = 0
    columns: str = ""


class _Receipts(msgspec.Struct, frozen=True):
    """A page of them, as the gateway lists them."""

    parts: list[HeldPart]
    next: int | None = None
    complete: int | None = None


@dataclass(frozen=True)
class Held:
    """What the service holds of a table."""

    parts: Mapping[int, HeldPart] = field(default_factory=dict)
    complete: int | None = None


def table_path(job: str, table: str) -> str:
    return f"/v1/jobs/{quote(job, safe='')}/tables/{quote(table, safe='')}"


def held_of(transport: Transport, job: str, table: str) -> Held:
    parts: dict[int, HeldPart] = {}
    first: int | None = 0
    complete: int | None = None
    while first is not None:
        reply = transport.request("GET", f"{table_path(job, table)}/parts?from={first}")
        with unreadable():
            page = msgspec.json.decode(reply.body, type=_Receipts)
        parts |= {each.part: each for each in page.parts}
        first, complete = page.next, page.complete
    return Held(parts, complete)


class _Table:
    """A table on its way."""

    def __init__(self, source: Source, held: Held) -> None:
        self.source = source
        self.name = source.spec.name
        self.held = held
        self.parts: int | None = None
        """How many it has, once it is cut to its end."""
        self.there = 0
        self.sent = 0
        self.weight = 0


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
        """Returns when every table is complete at the service, with the content of these files. Raises InputDiffers
        where it holds other content."""
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
        table = _Table(source, Held() if self._fresh else held_of(self._transport, self._job, source.spec.name))
        count = 0
        for seq, piece in enumerate(source.pieces(self._settings.part_bytes)):
            self._queue.put(_Numbered(table, seq, piece))
            count = seq + 1
            # Before the next piece is made, which may hold its bytes already.
            self._wait_for_room()
        self._check_count(table, count)
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
        body: Body = piece.content.read(room) if isinstance(piece.content, Range) else piece.content
        held = table.held.parts.get(part.seq)
        if held is None and table.held.complete is not None:
            self._refuse(table, f"{_described(part)}: the job has only {table.held.complete} parts of this table")
        # A receipt of an older version has no digest: the gateway compares then.
        compared = held is not None and bool(held.content)
        if held is not None and compared:
            self._compare(part, body, held)
        else:
            headers = piece.headers
            if codec is not None and piece.media_type == CSV and len(body):
                body = memoryview(codec.compress(body))
                headers["Content-Encoding"] = "zstd"
            self._put(part, body, headers)
        with self._lock:
            table.there += 1
            table.sent += not compared
            table.weight += piece.weight
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
            if refusal.code in CONFLICTS:
                self._refuse(part.table, f"{_described(part)}: {refusal}", refusal)
            raise

    def _complete(self, table: _Table) -> None:
        if table.held.complete is not None:
            return
        body = msgspec.json.encode({"parts": table.parts})
        path = f"{table_path(self._job, table.name)}/complete"
        try:
            self._transport.request("POST", path, body, {"Content-Type": JSON}, stop=self._stop)
        except Refused as refusal:
            if refusal.code in CONFLICTS:
                self._refuse(table, str(refusal), refusal)
            raise

    def _compare(self, part: _Numbered, body: Body, held: HeldPart) -> None:
        """Raises unless a part that is held has the content that would be sent for it."""
        piece = part.piece
        changed = ""
        if (held.file, held.first_line) != (piece.file, piece.first_line):
            changed = f"part {held.part} was sent from {held.file}, line {held.first_line:,}"
        elif held.columns != columns_digest(piece.columns) or held.form != PART_FORMS[piece.media_type]:
            changed = "the column names, or the format of the file, were others"
        elif held.size != len(body):
            changed = f"the job holds {held.size:,} bytes here, and this file gives {len(body):,}"
        elif held.content != hashlib.sha256(body).hexdigest():
            changed = f"the job holds as many bytes here ({held.size:,}), but other ones"
        if changed:
            self._refuse(part.table, f"{_described(part)}: {changed}")

    def _check_count(self, table: _Table, count: int) -> None:
        """Raises where the service holds more or fewer parts than these files give."""
        beyond = [each for seq, each in table.held.parts.items() if seq >= count]
        if beyond:
            first = min(beyond, key=lambda each: each.part)
            self._refuse(
                table,
                f"the job holds more of it than these files have: part {first.part}, from {first.file or table.name}, "
                f"line {first.first_line:,}",
            )

    def _refuse(self, table: _Table, difference: str, cause: Refused | None = None) -> NoReturn:
        raise InputDiffers(
            f"job {self._job} was sent with other data: table {table.name}, {difference}. Send these files under "
            "another job id, or the same files as before under this one"
        ) from cause

    def _report(self, table: _Table) -> None:
        if self._on_progress is None:
            return
        with self._lock:
            self._on_progress(Sent(table.name, table.weight, table.source.bytes, table.there, table.sent))


def _described(part: _Numbered) -> str:
    return f"file {part.piece.file}, {part.piece.extent} (part {part.seq})"
