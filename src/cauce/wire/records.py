"""Named records: what every log holds. The same name always carries the same content.

A record's name is (log, producer, seq); its digest travels with it, so that a second record under the same name
can be told to be the same.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from hashlib import blake2b

from cauce.errors import CorruptRecord

VERSION = 1
CLIENT = 0xFFFF_FFFF
"""The producer of what a client sends."""

_HEADER = struct.Struct("<BBHIQQ")


class Kind(IntEnum):
    DATA = 1
    END = 2
    """Its producer sent `seq` data records, no more."""
    BEGAN = 3
    """In a journal: work on `seq` begins."""
    DONE = 4
    """In a journal: all that came of `seq` is in the logs."""
    SNAPSHOT = 5
    STATE = 6
    """In a job's own log: its end, and why."""
    BROKEN_OFF = 7
    """In a journal: work on `seq` was broken off by a worker that lives on."""


_KINDS = frozenset(Kind)


@dataclass(frozen=True, slots=True)
class Record:
    kind: Kind
    producer: int
    seq: int
    body: bytes
    digest: int

    def dump(self) -> bytes:
        header = _HEADER.pack(VERSION, self.kind, 0, self.producer, self.seq, self.digest)
        return header + self.body


def record(kind: Kind, producer: int, seq: int, body: bytes = b"", digest: int | None = None) -> Record:
    """A record; its digest is that of its bytes, unless equal contents may have different bytes."""
    return Record(kind, producer, seq, body, digest_of(body) if digest is None else digest)


def digest_of(body: bytes) -> int:
    return int.from_bytes(blake2b(body, digest_size=8).digest(), "little")


def load(data: bytes | memoryview, where: str) -> Record:
    """A record from its bytes; raises where they are not one. `where` names the place for the error. That they
    are the bytes that were written is the fabric's to know."""
    if len(data) < _HEADER.size:
        raise CorruptRecord(f"{where}: {len(data)} bytes are too few for a record")
    version, kind, _, producer, seq, digest = _HEADER.unpack_from(data)
    if version != VERSION:
        raise CorruptRecord(f"{where}: record version {version}, this program reads {VERSION}")
    if kind not in _KINDS:
        raise CorruptRecord(f"{where}: no kind of record has the number {kind}")
    return Record(Kind(kind), producer, seq, bytes(data[_HEADER.size :]), digest)
