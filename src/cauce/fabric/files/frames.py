"""The frame format of segments. It distinguishes a torn frame from a damaged one.

A frame is the record's length, its CRC, a CRC of these two, and the record. Without the header's CRC, a flipped bit in
a length would look like a frame still being written, and all later records would be lost silently.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import accumulate

from cauce.errors import CorruptRecord, FabricError
from cauce.fabric.checksum import crc32
from cauce.fabric.records import Record, load

_SUMS = struct.Struct("<II")
_HEADER = struct.Struct("<III")
HEADER_BYTES = _HEADER.size
MAX_RECORD_BYTES = 1 << 30

_ZEROS = bytes(HEADER_BYTES)


Frame = tuple[bytes, bytes, bytes]
"""A frame in pieces, so that the body of a record and its tail are not copied: they may have megabytes."""


def frame_of(each: Record) -> Frame:
    head = each.header()
    size = each.size
    if size > MAX_RECORD_BYTES:
        raise FabricError(
            f"record {each.producer}/{each.seq} has {size} bytes, more than the limit of {MAX_RECORD_BYTES}: "
            "split it into smaller records"
        )
    sums = _SUMS.pack(size, crc32(each.tail, crc32(each.body, crc32(head))))
    return sums + crc32(sums).to_bytes(4, "little") + head, each.body, each.tail


def frame_bytes(header: memoryview, where: str) -> int:
    """The length of the frame with this header; 0 for a header of zeros, which is not a frame."""
    length, _, check = _HEADER.unpack(header)
    if crc32(header[: _SUMS.size]) != check:
        if header == _ZEROS:
            return 0
        raise CorruptRecord(f"{where}: the header of a record is damaged; restore the file or run the job again")
    if length > MAX_RECORD_BYTES:
        raise CorruptRecord(f"{where}: invalid record length {length}; another program wrote to this file")
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


def last_whole(start: int, frames: Sequence[Frame], size: int) -> int:
    """The offset after the last whole frame, if frames were written from `start` on and the file has this size."""
    sizes = (sum(map(len, frame)) for frame in frames)
    return max(end for end in accumulate(sizes, initial=start) if end <= size)
