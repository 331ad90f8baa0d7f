"""Which parts of a table are held: a log of its own, so that any gateway can answer for what any other has taken.

    BEGAN seq, digest   a gateway is about to append this part
    DATA  seq, receipt  the part is in its lane
    BEGAN count         a gateway is about to complete the table
    END   count         the table is complete

What is begun is said before it is done, and the log is read again in between. So of two gateways that were given
different contents for one number, or a part and the end before it, at least one sees the other and refuses: a lane
never holds two contents under one name, nor more than its end counts.
"""

from __future__ import annotations

from itertools import islice

import msgspec

from cauce.fabric.contract import Fabric, Position
from cauce.gateway.model import Held
from cauce.wire.records import CLIENT, Kind, Record, record
from cauce.worker.topology import CONTROL

_READ_BYTES = 4 << 20
_NAMED = 5
"""How many missing parts an error names."""


class FileStamp(msgspec.Struct, frozen=True):
    """The state of a file that a part refers to. A change of either field counts as a change of its content."""

    bytes: int
    modified_ns: int


class Receipt(msgspec.Struct, frozen=True):
    """`digest` identifies the request that brought the part. The fields after `at` describe its content, so that a
    client can compare its files with a job whose raw data has been released; receipts of older versions lack them."""

    digest: str
    bytes: int
    at: float
    content: str = ""
    """SHA-256 of the body without its Content-Encoding."""
    size: int = 0
    """Length of the body without its Content-Encoding."""
    form: str = ""
    file: str = ""
    first_line: int = 0
    columns: str = ""
    source: FileStamp | None = None
    """Of a reference: the file as it was when the part was accepted."""

    def same_content(self, other: Receipt) -> bool:
        """Whether both describe the same rows, however each was compressed."""
        return bool(self.content) and _content(self) == _content(other)


def _content(receipt: Receipt) -> tuple[object, ...]:
    return (
        receipt.content,
        receipt.form,
        receipt.file,
        receipt.first_line,
        receipt.columns,
        receipt.source,
    )


class Completion(msgspec.Struct, frozen=True):
    at: float


def claim_of(seq: int, digest: str) -> Record:
    return record(Kind.BEGAN, CLIENT, seq, digest.encode())


def receipt_of(seq: int, receipt: Receipt) -> Record:
    return record(Kind.DATA, CLIENT, seq, msgspec.json.encode(receipt))


def closing_of(count: int) -> Record:
    return record(Kind.BEGAN, CLIENT, count)


def completion_of(count: int, at: float) -> Record:
    return record(Kind.END, CLIENT, count, msgspec.json.encode(Completion(at)))


class Receipts:
    """What the log says, as far as it has been read. A cache: another process reads the same."""

    def __init__(self, table: str) -> None:
        self.log = f"{CONTROL}.receipts-{table}"
        self.held: dict[int, Receipt] = {}
        self.complete: int | None = None
        self.bytes = 0
        self.first_at = 0.0
        self.last_at = 0.0
        self.completed_at = 0.0
        self._claims: dict[int, set[str]] = {}
        self._closings: set[int] = set()
        self._position: Position = {}

    def advance(self, fabric: Fabric, job: str) -> None:
        while True:
            batch = fabric.read(job, self.log, self._position, _READ_BYTES)
            if batch.position == self._position:
                return
            self._position = batch.position
            for each in batch.records:
                self._take(each)

    def _take(self, each: Record) -> None:
        match each.kind:
            case Kind.BEGAN if each.body:
                self._claims.setdefault(each.seq, set()).add(each.body.decode())
            case Kind.BEGAN:
                self._closings.add(each.seq)
            case Kind.DATA:
                receipt = msgspec.json.decode(each.body, type=Receipt)
                self.first_at = min(self.first_at or receipt.at, receipt.at)
                self.last_at = max(self.last_at, receipt.at)
                if each.seq not in self.held:
                    self.held[each.seq] = receipt
                    self.bytes += receipt.bytes
            case Kind.END:
                self.completed_at = msgspec.json.decode(each.body, type=Completion).at
                self.last_at = max(self.last_at, self.completed_at)
                self.complete = each.seq

    def claims(self, seq: int) -> frozenset[str]:
        """The contents that were to be appended under a number."""
        return frozenset(self._claims.get(seq, ()))

    def closed_at(self) -> int | None:
        """The number of parts the table was, or was about to be, completed with."""
        return self.complete if self.complete is not None else min(self._closings, default=None)

    def beyond(self, count: int) -> int | None:
        """A part, held or about to be, whose number is too high for a table of so many."""
        return next((seq for seq in (*self._claims, *self.held) if seq >= count), None)

    def missing(self, count: int) -> list[int]:
        """The first of the parts that a table of so many still lacks."""
        if len(self.held) >= count and all(seq in self.held for seq in range(count)):
            return []
        return list(islice((seq for seq in range(count) if seq not in self.held), _NAMED))

    def ranges(self) -> Held:
        ranges: list[tuple[int, int]] = []
        for seq in sorted(self.held):
            if ranges and ranges[-1][1] == seq - 1:
                ranges[-1] = (ranges[-1][0], seq)
            else:
                ranges.append((seq, seq))
        return Held(ranges, len(self.held), self.bytes, self.complete)
