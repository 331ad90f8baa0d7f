"""Bytes that were compressed as they were sent, read back in chunks: never more in memory than one of them."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cauce.native.lanes import SPARE_BYTES

Compression = Literal["", "gzip", "zstd"]

CHUNK_BYTES = 1 << 20
_GZIP = 31


def unpacked(data: bytes, compression: Compression) -> Iterator[bytes]:
    """The chunks of what was compressed; raises ValueError where the bytes are not that, or are cut off."""
    match compression:
        case "":
            for start in range(0, len(data), CHUNK_BYTES):
                yield data[start : start + CHUNK_BYTES]
        case "gzip":
            yield from _gzip(data)
        case "zstd":
            yield from _zstd(data)


def _gzip(data: bytes) -> Iterator[bytes]:
    """Any number of members, one after the other, and zeros after the last."""
    rest = data
    while rest:
        member = zlib.decompressobj(_GZIP)
        while not member.eof:
            try:
                chunk = member.decompress(rest, CHUNK_BYTES)
            except zlib.error as problem:
                raise ValueError(f"cannot be decompressed as gzip: {problem}") from problem
            rest = member.unconsumed_tail
            if chunk:
                yield chunk
            elif not member.eof and not rest:
                raise ValueError("cannot be decompressed as gzip: it is cut off")
        rest = member.unused_data.lstrip(b"\0")


def _zstd(data: bytes) -> Iterator[bytes]:
    try:
        with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
            while chunk := stream.read(CHUNK_BYTES):
                yield chunk
    except (OSError, pa.ArrowException) as problem:
        raise ValueError(f"cannot be decompressed as zstd: {problem}") from problem


def unpack_into(buffer: npt.NDArray[np.uint8], data: bytes, compression: Compression, skip: int, length: int) -> None:
    """Puts `length` bytes behind the first `skip` into a buffer that has room for them and the spare ones."""
    at = -skip
    for chunk in unpacked(data, compression):
        begin, end = max(at, 0), min(at + len(chunk), length)
        if end > begin:
            buffer[begin:end] = np.frombuffer(chunk, np.uint8)[begin - at : end - at]
        at += len(chunk)
    if at != length:
        raise ValueError(f"has {at + skip} bytes, and {length + skip} were expected")
    buffer[length : length + SPARE_BYTES] = 0
