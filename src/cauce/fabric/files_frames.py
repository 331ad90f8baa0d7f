"""Frames: how records lie in a segment, and how one tells what is torn from what is broken.

A frame is the record's length, its CRC, and a CRC of these two; then the record. Without the last, a flipped bit in
a length would look like a frame still being written, and all behind it would be silently lost.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import accumulate
from zlib import crc32

from cauce.errors import CorruptRecord, FabricError
from cauce.wire.records import Record, load

_SUMS = struct.Struct("<II")
_HEADER = struct.Struct("<III")
HEADER_BYTES = _HEADER.size
MAX_RECORD_BYTES = 1 << 30

_ZEROS = bytes(HEADER_BYTES)


def frame_of(each: Record) -> bytes:
    data = each.dump()
    if len(data) > MAX_RECORD_BYTES:
        raise FabricError(
            f"record {each.producer}/{each.seq} has {len(data)} bytes, and a log takes {MAX_RECORD_BYTES} at most: "
            "cut it into smaller ones"
        )
    sums = _SUMS.pack(len(data), crc32(data))
    return b"".join((sums, crc32(sums).to_bytes(4, "little"), data))


def frame_bytes(header: memoryview, where: str) -> int:
    """How long the frame is that begins with these bytes; 0 if they are all zero, and there is none."""
    length, _, check = _HEADER.unpack(header)
    if crc32(header[: _SUMS.size]) != check:
        if header == _ZEROS:
            return 0
        raise CorruptRecord(f"{where}: the head of a record is damaged; restore the file or run the job again")
    if length > MAX_RECORD_BYTES:
        raise CorruptRecord(f"{where}: a record of {length} bytes cannot be; another program has written here")
    return HEADER_BYTES + int(length)


def unframe(frame: memoryview, where: str) -> Record:
    _, expected, _ = _HEADER.unpack_from(frame)
    data = frame[HEADER_BYTES:]
    if crc32(data) != expected:
        raise CorruptRecord(f"{where}: a record is damaged; restore the file or run the job again")
    try:
        return load(data, where)
    except ValueError as problem:
        raise CorruptRecord(f"{where}: {problem}; a newer version of this program may have written it") from problem


def last_whole(start: int, frames: Sequence[bytes], size: int) -> int:
    """Where the last whole frame ends, if frames were written from `start` on and the file has got this size."""
    return max(end for end in accumulate(map(len, frames), initial=start) if end <= size)
