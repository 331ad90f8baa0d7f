"""The receipts log of a table: the parts that are stored, so that every gateway knows the parts all others accepted.

    STARTED seq, digest   a gateway is about to append this part
    DATA seq, receipt     the part is in its lane
    STARTED count         a gateway is about to complete the table
    END count             the table is complete

A gateway appends its intent, reads the log again, and only then acts. If two gateways receive different contents for
one number, or a part and a completion that excludes it, at least one sees the conflict and refuses. So a lane never
holds two contents under one identity, nor more parts than its end counts.
"""

from __future__ import annotations

from itertools import islice

import msgspec

from cauce.api.parts import Held
from cauce.fabric.contract import Fabric, Log
from cauce.fabric.records import CLIENT, Kind, Record, record
from cauce.job.kept import TableVersion
from cauce.job.log_reader import LogReader
from cauce.job.topology import CONTROL

_NAMED = 5
"""How many missing parts an error names."""


class FileStamp(msgspec.Struct, frozen=True):
    """The state of a file that a part refers to. A different size or modification time counts as different content. A
    different inode alone may be a copy of the same file; stamps of older versions lack it."""

    bytes: int
    modified_ns: int
    inode: int = 0


class Receipt(msgspec.Struct, frozen=True):
    """`digest` identifies the request that uploaded the part. The fields after `at` describe its content, so that a
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
        """Whether both describe the same rows, independent of compression."""
        return bool(self.content) and _content(self) == _content(other)


def _content(receipt: Receipt) -> tuple[object, ...]:
    return (
        receipt.content,
        receipt.form,
        receipt.file,
        receipt.first_line,
        receipt.columns,
        receipt.source and (receipt.source.bytes, receipt.source.modified_ns),
    )


class Completion(msgspec.Struct, frozen=True):
    at: float


def claim_of(seq: int, digest: str) -> Record:
    return record(Kind.STARTED, CLIENT, seq, digest.encode())


def receipt_of(seq: int, receipt: Receipt) -> Record:
    return record(Kind.DATA, CLIENT, seq, msgspec.json.encode(receipt))


def closing_of(count: int) -> Record:
    return record(Kind.STARTED, CLIENT, count)


def completion_of(count: int, at: float) -> Record:
    return record(Kind.END, CLIENT, count, msgspec.json.encode(Completion(at)))


class Receipts:
    """The state of the receipts log up to the position read. A cache: every process can rebuild it."""

    def __init__(self, table: str) -> None:
        self.log = Log(CONTROL, f"receipts-{table}")
        self.held: dict[int, Receipt] = {}
        self.complete: int | None = None
        self.bytes = 0
        self.first_at = 0.0
        self.last_at = 0.0
        self.completed_at = 0.0
        self._claims: dict[int, set[str]] = {}
        self._closings: set[int] = set()
        self._completions: set[int] = set()
        self._reader = LogReader(self.log)

    def advance(self, fabric: Fabric, job: str) -> None:
        for each in self._reader.records(fabric, job):
            self._add(each)

    def _add(self, each: Record) -> None:
        match each.kind:
            case Kind.STARTED if each.body:
                self._claims.setdefault(each.seq, set()).add(each.body.decode())
            case Kind.STARTED:
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
                self.complete = max(self.complete or 0, each.seq)
                self._completions.add(each.seq)

    @property
    def count(self) -> int:
        """The number of stored parts."""
        return len(self.held)

    @property
    def versions(self) -> int:
        """How often the table was completed, each time with more parts. More than once only in a kept dataset."""
        return len(self._completions)

    def claims(self, seq: int) -> frozenset[str]:
        """Digests of the contents that gateways intended to append under a number."""
        return frozenset(self._claims.get(seq, ()))

    def closed_at(self) -> int | None:
        """The number of parts with which the table is completed, or with which completion was announced."""
        return self.complete if self.complete is not None else min(self._closings, default=None)

    def beyond(self, count: int) -> int | None:
        """A stored or announced part whose number is too high for a table of `count` parts."""
        return next((seq for seq in (*self._claims, *self.held) if seq >= count), None)

    def missing(self, count: int) -> list[int]:
        """The first missing parts of a table of `count` parts."""
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


class FixedReceipts(Receipts):
    """The receipts of a table of a job that reads a version of a kept dataset: complete from the start."""

    def __init__(self, table: str, version: TableVersion) -> None:
        super().__init__(table)
        self.complete = version.parts
        self.bytes = version.bytes

    @property
    def count(self) -> int:
        return self.complete or 0

    def advance(self, fabric: Fabric, job: str) -> None:
        """There is nothing to read."""
