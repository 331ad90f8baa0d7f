"""Records, the entries of every log. A record is identified by (log, producer, seq), and one identity always has the
same content.

The digest travels with the record, so that a duplicate can be checked against the original.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from hashlib import blake2b

from cauce.errors import CorruptRecord
from cauce.fabric.versions import check_version

VERSION = 1
"""Version of the record header and of the bodies of all record kinds."""
CLIENT = 0xFFFF_FFFF
"""Producer number of records that a client sends."""

_HEADER = struct.Struct("<BBHIQQ")


class Kind(IntEnum):
    DATA = 1
    END = 2
    """The producer sent `seq` data records and is complete."""
    STARTED = 3
    """In a journal: work on `seq` has started."""
    DONE = 4
    """In a journal: all output of `seq` has been appended."""
    SNAPSHOT = 5
    STATE = 6
    """In a job's own log: its final state and the cause."""
    ABORTED = 7
    """In a journal: work on `seq` was aborted; the worker did not crash."""
    CRASH = 8
    """In a job's own log: a worker crashed while it ran a task of the job."""
    CLEARED = 9
    """In a job's own log: crashes that no longer count, since the job made progress or the worker survived."""
    DATASET_MISSING = 10
    """In a job's own log: a worker skipped the job because it does not have the job's dataset."""


_KINDS = frozenset(Kind)


@dataclass(frozen=True, slots=True)
class Record:
    kind: Kind
    producer: int
    seq: int
    body: bytes
    digest: int
    tail: bytes = b""
    """The end of the body, which a fabric appends without copying it: it may have megabytes. A record that was read has
    none."""

    @property
    def size(self) -> int:
        """The length of its dump in bytes."""
        return _HEADER.size + len(self.body) + len(self.tail)

    def whole(self) -> Record:
        """The same record without a tail."""
        return replace(self, body=self.body + self.tail, tail=b"") if self.tail else self

    def header(self) -> bytes:
        return _HEADER.pack(VERSION, self.kind, 0, self.producer, self.seq, self.digest)

    def dump(self) -> bytes:
        return self.header() + self.body + self.tail


def record(kind: Kind, producer: int, seq: int, body: bytes = b"", digest: int | None = None) -> Record:
    """Creates a record. Pass `digest` where equal contents may be encoded as different bytes."""
    return Record(kind, producer, seq, body, digest_of(body) if digest is None else digest)


def digest_of(body: bytes) -> int:
    return int.from_bytes(blake2b(body, digest_size=8).digest(), "little")


def load_pieces(pieces: Sequence[memoryview], where: str) -> Record:
    """Like `load`, for a record in several pieces, which are copied once."""
    first = pieces[0]
    if len(first) < _HEADER.size:
        return load(b"".join(pieces), where)
    head = load(first[: _HEADER.size], where)
    return replace(head, body=b"".join((first[_HEADER.size :], *pieces[1:])))


def load(data: bytes | memoryview, where: str) -> Record:
    """Decodes a record. Raises CorruptRecord or OtherVersion; `where` names the location in the error. Does not verify
    the digest: the fabric's checksums protect the bytes."""
    if len(data) < _HEADER.size:
        raise CorruptRecord(
            f"{where}: {len(data)} bytes are too few for a record; restore the data or run the job again"
        )
    version, kind, _, producer, seq, digest = _HEADER.unpack_from(data)
    if version != VERSION:
        check_version(version, VERSION, f"a record in {where}")
    if kind not in _KINDS:
        raise CorruptRecord(f"{where}: unknown record kind {kind}")
    return Record(Kind(kind), producer, seq, bytes(data[_HEADER.size :]), digest)
