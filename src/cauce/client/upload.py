"""Uploads tables in numbered parts, with a window of unacknowledged parts and a few connections. Never sends a part
again that the service already holds.

A held part is read and compared with its receipt instead, because a job id identifies one input. Repeating an upload,
also of a job that has ended, sends nothing, and fails if the files differ.

The window bounds the memory: a part is cut only when the window has space, and read from its file when it is sent.
"""

from __future__ import annotations

import base64
import hashlib
import queue
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn
from urllib.parse import quote

import msgspec
import pyarrow as pa

from cauce.api.http import CONTENT_DIGEST, JSON
from cauce.api.parts import PartReceipt, PartsBody
from cauce.client.connection_problems import unreadable
from cauce.client.file_range import FileRange
from cauce.client.settings import PART_BYTES, OnProgress, Sent, Settings
from cauce.client.sources import Buffer, Source, extent_of, files_in_small_parts
from cauce.client.transport import Body, Stopped, Transport
from cauce.errors import InputDiffers, Refused
from cauce.job.part_digest import columns_digest
from cauce.scan.formats.table import format_named
from cauce.scan.parts import Part

ZSTD_LEVEL = 1
POLL_S = 0.1
JOIN_TIMEOUT_S = 2.0
CONFLICTS = ("part-differs", "table-complete", "count-differs")
"""Error codes of a gateway that holds other data under this job id."""


@dataclass(frozen=True)
class Held:
    """The parts of a table that the service holds."""

    parts: Mapping[int, PartReceipt] = field(default_factory=dict)
    complete: int | None = None


@dataclass(frozen=True)
class Target:
    """Where an upload goes: a job, or a kept dataset."""

    kind: str
    name: str

    def table(self, table: str) -> str:
        """The path of a table."""
        return f"/v1/{self.kind}s/{quote(self.name, safe='')}/tables/{quote(table, safe='')}"


def held_of(transport: Transport, target: Target, table: str) -> Held:
    parts: dict[int, PartReceipt] = {}
    first: int | None = 0
    complete: int | None = None
    while first is not None:
        reply = transport.request("GET", f"{target.table(table)}/parts?from={first}")
        with unreadable():
            page = msgspec.json.decode(reply.body, type=PartsBody)
        parts |= {each.part: each for each in page.parts}
        first, complete = page.next, page.complete
    return Held(parts, complete)


class TableUpload:
    """The upload state of a table."""

    def __init__(self, source: Source, held: Held) -> None:
        self.source = source
        self.name = source.spec.name
        self.held = held
        self.parts: int | None = None
        """The number of parts of these files, once all are cut."""
        self.total = 0
        """Of a kept dataset: the number of parts of its new version."""
        self.stored = 0
        self.sent = 0
        self.weight = 0


class Upload:
    """One upload of the tables of a job. The caller of `run` cuts parts; threads of this object send them."""

    def __init__(
        self,
        transport: Transport,
        target: Target,
        sources: Sequence[Source],
        settings: Settings | None = None,
        on_progress: OnProgress | None = None,
        *,
        fresh: bool = False,
    ) -> None:
        self._transport = transport
        self._target = target
        self._sources = sources
        self._settings = settings or Settings()
        self._on_progress = on_progress
        self._fresh = fresh
        """Whether this call created the job, so that the service holds no parts."""
        compress = self._settings.compress
        self._compressed = compress == "zstd" or (compress == "auto" and not transport.loopback)
        # Within one machine, data cannot be corrupted by the network.
        self._digests = not transport.loopback
        self._queue: queue.SimpleQueue[tuple[TableUpload, Part] | None] = queue.SimpleQueue()
        self._window = threading.Semaphore(self._settings.window)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._failure: BaseException | None = None

    def run(self) -> None:
        """Returns when the service holds every table completely, with the content of these files. Raises InputDiffers
        if it holds other content."""
        senders = [
            threading.Thread(target=self._send_parts, name=f"sender-{number}", daemon=True)
            for number in range(self._settings.connections)
        ]
        for sender in senders:
            sender.start()
        try:
            for source in self._sources:
                self._cut(source)
            self._stop_senders(senders)
            for sender in senders:
                while sender.is_alive():
                    sender.join(POLL_S)
        except Stopped:
            pass
        finally:
            self._stop.set()
            self._stop_senders(senders)
            deadline = time.monotonic() + JOIN_TIMEOUT_S
            for sender in senders:
                sender.join(max(0.0, deadline - time.monotonic()))
        if self._failure is not None:
            raise self._failure

    def _stop_senders(self, senders: Sequence[threading.Thread]) -> None:
        for _ in senders:
            self._queue.put(None)

    def _cut(self, source: Source) -> None:
        table = TableUpload(source, Held() if self._fresh else held_of(self._transport, self._target, source.spec.name))
        count = 0
        for part in self.parts(table):
            self._queue.put((table, part))
            count += 1
            # Before the next part is cut, because a part may already hold its bytes in memory.
            self._wait_for_window()
        self.check_count(table, count)
        with self._lock:
            table.parts = count
            last = table.stored == count
        if last:
            self.complete(table)

    def parts(self, table: TableUpload) -> Iterator[Part]:
        """The parts of a table with their numbers."""
        return self.cut_again(table, table.source)

    def cut_again(self, table: TableUpload, source: Source) -> Iterator[Part]:
        """The parts of files that the service may hold in part, cut as they were before."""
        return source.parts(self._settings.part_bytes, files_in_small_parts(table.held.parts.values()))

    def _wait_for_window(self) -> None:
        while not self._window.acquire(timeout=POLL_S):
            if self._stop.is_set():
                raise Stopped
        if self._stop.is_set():
            raise Stopped

    def _send_parts(self) -> None:
        buffer = Buffer(self._settings.part_bytes or PART_BYTES)
        codec = pa.Codec("zstd", compression_level=ZSTD_LEVEL) if self._compressed else None
        try:
            while (queued := self._queue.get()) is not None:
                if self._stop.is_set():
                    return
                self._send(*queued, buffer, codec)
                self._window.release()
        except Stopped:
            pass
        except BaseException as problem:  # noqa: BLE001  # raised again by `run`
            with self._lock:
                self._failure = self._failure or problem
            self._stop.set()

    def _send(self, table: TableUpload, part: Part, buffer: Buffer, codec: pa.Codec | None) -> None:
        held = table.held.parts.get(part.seq)
        if held is None:
            self.check_new(table, part)
        # A receipt of an older version has no digest: the part is sent, and the gateway compares it.
        compared = held is not None and bool(held.content)
        if held is not None and compared:
            self.compare(table, part, table.source.body(part, buffer), held)
        else:
            self._put(table, part, *self._request_of(table.source, part, buffer, codec))
        with self._lock:
            table.stored += 1
            table.sent += not compared
            table.weight += part.weight
            last = table.stored == table.parts
        self._report(table)
        if last:
            self.complete(table)

    def _request_of(
        self, source: Source, part: Part, buffer: Buffer, codec: pa.Codec | None
    ) -> tuple[Body | FileRange, dict[str, str]]:
        """The body and headers of a part. The bytes of a file that are sent as they are need not be read."""
        headers = source.headers(part)
        compressed = codec is not None and format_named(part.form).compressible
        if not compressed and not self._digests and (found := source.range(part)) is not None:
            return found, headers
        body = source.body(part, buffer)
        if codec is not None and compressed and len(body):
            body = memoryview(codec.compress(body))
            headers["Content-Encoding"] = "zstd"
        if self._digests:
            digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
            headers[CONTENT_DIGEST] = f"sha-256=:{digest}:"
        return body, headers

    def check_new(self, table: TableUpload, part: Part) -> None:
        """Raises if a part that the service does not hold cannot be added."""
        if table.held.complete is not None:
            self.refuse(table, f"{described(part)}: the job has only {table.held.complete} parts of this table")

    def _put(self, table: TableUpload, part: Part, body: Body | FileRange, headers: dict[str, str]) -> None:
        path = f"{self._target.table(table.name)}/parts/{part.seq}"
        try:
            self._transport.request("PUT", path, body, headers, stop=self._stop)
        except Refused as refusal:
            if refusal.code in CONFLICTS:
                self.refuse(table, f"{described(part)}: {refusal}", refusal)
            raise

    def complete(self, table: TableUpload) -> None:
        """Called when the service holds every part of the table."""
        if table.held.complete is None:
            self.complete_with(table, table.parts or 0)

    def complete_with(self, table: TableUpload, parts: int) -> None:
        body = msgspec.json.encode({"parts": parts})
        path = f"{self._target.table(table.name)}/complete"
        try:
            self._transport.request("POST", path, body, {"Content-Type": JSON}, stop=self._stop)
        except Refused as refusal:
            if refusal.code in CONFLICTS:
                self.refuse(table, str(refusal), refusal)
            raise

    def compare(self, table: TableUpload, part: Part, body: Body, held: PartReceipt) -> None:
        """Raises if a held part differs from the one that would be sent."""
        kind = self._target.kind
        changed = ""
        if (held.file, held.first_line) != (part.file.name, part.first_line):
            changed = f"part {held.part} was sent from {held.file}, line {held.first_line:,}"
        elif held.columns != columns_digest(table.source.columns(part)) or held.form != part.form:
            changed = f"the {kind} holds other column names or another file format"
        elif held.size != len(body):
            changed = f"the {kind} holds {held.size:,} bytes here, and this file has {len(body):,}"
        elif held.content != hashlib.sha256(body).hexdigest():
            changed = f"the {kind} holds other content of the same size here ({held.size:,} bytes)"
        if changed:
            self.refuse(table, f"{described(part)}: {changed}")

    def check_count(self, table: TableUpload, count: int) -> None:
        """Raises if the service holds more parts than these files have."""
        beyond = [each for seq, each in table.held.parts.items() if seq >= count]
        if beyond:
            first = min(beyond, key=lambda each: each.part)
            self.refuse(
                table,
                f"the job holds more of it than these files have: part {first.part}, from {first.file or table.name}, "
                f"line {first.first_line:,}",
            )

    def refuse(self, table: TableUpload, difference: str, cause: Refused | None = None) -> NoReturn:
        raise InputDiffers(
            f"job {self._target.name} was sent with other data: table {table.name}, {difference}. Send these files "
            "under another job id, or the same files as before under this one"
        ) from cause

    def _report(self, table: TableUpload) -> None:
        if self._on_progress is None:
            return
        with self._lock:
            self._on_progress(Sent(table.source.spec.shown, table.weight, table.source.bytes, table.stored, table.sent))


def described(part: Part) -> str:
    return f"file {part.file.name}, {extent_of(part)} (part {part.seq})"
