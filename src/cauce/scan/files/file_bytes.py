"""Bytes of a file or of an inline part: byte ranges, and decompressed chunks of compressed files."""

from __future__ import annotations

import errno
import gzip
import io
import mmap
import os
import zlib
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.lib.stride_tricks import as_strided

from cauce.api.http import Compression
from cauce.errors import JobFailed
from cauce.scan.csv.located import padded
from cauce.scan.files.nofollow import open_nofollow
from cauce.scan.files.unpack import unpack_into
from cauce.scan.native.simd import SPARE_BYTES, Bytes
from cauce.scan.parts import Buffer, FileState, Part, TableFile

CHUNK_BYTES = 2**20
COMPRESSED: dict[str, Compression] = {".gz": "gzip", ".zst": "zstd"}
"""The endings of compressed files, after the ending of their format."""

_FILE_GONE = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM, errno.ENXIO))
"""Errors of opening a file that show that it changed since it was accepted."""


def bytes_of(part: Part, buffer: Buffer) -> tuple[Bytes, int]:
    """The text of a part without its header, decompressed, followed by spare bytes; and its length."""
    if part.data is None:
        return _range_of(part.file, part.start, part.end, buffer), part.end - part.start
    if not part.compression and not part.skip:
        return padded(part.data), len(part.data)
    length = part.unpacked_bytes - part.skip
    held = buffer(length + SPARE_BYTES)
    unpack_into(held, part.data, part.compression, part.skip, length)
    return held, length


def compression_of(path: str) -> Compression:
    return next((kind for ending, kind in COMPRESSED.items() if path.lower().endswith(ending)), "")


def chunks_of(file: TableFile, taken: list[int] | None = None) -> Iterator[bytes]:
    """The bytes of a file, decompressed; `taken` receives the number of bytes read from it."""
    try:
        with open(file.path, "rb") as raw:
            before = 0
            with _decompressed(raw, compression_of(file.path)) as opened:
                while chunk := opened.read(CHUNK_BYTES):
                    if taken is not None:
                        taken[0] += raw.tell() - before
                        before = raw.tell()
                    yield chunk
    except PermissionError:
        raise
    except (OSError, EOFError, zlib.error, pa.ArrowException) as problem:
        raise JobFailed(
            f"{file.name} cannot be decompressed: {problem}; copy the file again, or correct its ending"
        ) from problem


def _decompressed(
    raw: io.BufferedReader, compression: Compression
) -> io.BufferedReader | gzip.GzipFile | pa.NativeFile:
    match compression:
        case "":
            return raw
        case "gzip":
            return gzip.GzipFile(fileobj=raw)
        case "zstd":
            return pa.CompressedInputStream(raw, "zstd")


def check_unchanged(file: TableFile) -> None:
    """Raises if the size of a file is not what it was when the file was found."""
    if os.path.getsize(file.path) != file.bytes:
        raise JobFailed(f"{file.path} changed while it was read: start again when no process writes to it")


def _range_of(named: TableFile, start: int, end: int, buffer: Buffer) -> Bytes:
    """The bytes of a range, followed by spare bytes: memory-mapped without a copy, or read if the last page of the file
    has no room for the spare bytes. After the end of a file, its last page holds zeros.

    If the file shrinks while it is mapped, the process crashes, and the retry finds the file too short.
    """
    with _opened(named) as file:
        size = os.fstat(file.fileno()).st_size
        if start < end <= size and end + SPARE_BYTES <= size + -size % mmap.PAGESIZE:
            first = start - start % mmap.ALLOCATIONGRANULARITY
            held = mmap.mmap(file.fileno(), min(end + SPARE_BYTES, size) - first, access=mmap.ACCESS_READ, offset=first)
            mapped = np.frombuffer(held, np.uint8)[start - first :]
            return as_strided(mapped, (end - start + SPARE_BYTES,), writeable=False)
        read = buffer(end - start + SPARE_BYTES)
        done = 0
        while done < end - start:
            got = os.preadv(file.fileno(), [read[done : end - start].data], start + done)
            if got == 0:
                raise JobFailed(f"{named.path} became shorter while it was read: start again with an unchanged file")
            done += got
        read[end - start : end - start + SPARE_BYTES] = 0
        return read


def _opened(named: TableFile) -> io.FileIO:
    """Opens the file once. A file with a required state must be a regular file, without links in its path, unchanged
    since. Errors not caused by the file propagate to the caller: another process may be able to read it."""
    if named.state is None:
        return open(named.path, "rb", buffering=0)
    try:
        opened = open_nofollow(named.path)
    except OSError as problem:
        if problem.errno not in _FILE_GONE:
            raise
        raise JobFailed(
            f"{named.name} cannot be read any more ({problem.strerror}): submit the job again under another id"
        ) from problem
    if FileState.of(os.fstat(opened)) != named.state:
        os.close(opened)
        raise JobFailed(
            f"{named.name} was changed or replaced after it was submitted: submit the job again under another id"
        )
    return io.FileIO(opened)
