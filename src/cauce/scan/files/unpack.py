"""Decompresses uploaded bytes in chunks. Never holds more than one chunk in memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cauce.api.http import Compression
from cauce.scan.native.simd import SPARE_BYTES

CHUNK_BYTES = 1 << 20
_GZIP = 31


def unpacked(data: bytes, compression: Compression) -> Iterator[bytes]:
    """The decompressed chunks. Raises ValueError if the bytes are invalid or truncated."""
    match compression:
        case "":
            for start in range(0, len(data), CHUNK_BYTES):
                yield data[start : start + CHUNK_BYTES]
        case "gzip":
            yield from _gzip(data)
        case "zstd":
            yield from _zstd(data)


def _gzip(data: bytes) -> Iterator[bytes]:
    """Any number of concatenated members, followed by optional zeros."""
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
                raise ValueError("cannot be decompressed as gzip: it is truncated")
        rest = member.unused_data.lstrip(b"\0")


def _zstd(data: bytes) -> Iterator[bytes]:
    try:
        with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
            while chunk := stream.read(CHUNK_BYTES):
                yield chunk
    except (OSError, pa.ArrowException) as problem:
        raise ValueError(f"cannot be decompressed as zstd: {problem}") from problem


def unpack_into(buffer: npt.NDArray[np.uint8], data: bytes, compression: Compression, skip: int, length: int) -> None:
    """Writes the `length` bytes after the first `skip` into a buffer with room for them and the spare bytes."""
    at = -skip
    for chunk in unpacked(data, compression):
        begin, end = max(at, 0), min(at + len(chunk), length)
        if end > begin:
            buffer[begin:end] = np.frombuffer(chunk, np.uint8)[begin - at : end - at]
        at += len(chunk)
    if at != length:
        raise ValueError(f"has {at + skip} bytes, expected {length + skip}")
    buffer[length : length + SPARE_BYTES] = 0
