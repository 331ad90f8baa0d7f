"""Serialises frames as Arrow IPC or packed numbers, and computes digests of their content.

Equal frames may have different bytes (values under a null, unused bits of a mask), so a digest is computed over the
rows. Digests are comparable within one version of Polars, which is part of every plan's digest.
"""

from __future__ import annotations

import io
from typing import Literal

import polars as pl

from cauce.fabric.records import Kind, Record, digest_of, record
from cauce.scan.integers.packing import Packed, is_packed, pack, unpack
from cauce.scan.integers.scatter import digest_bytes

COMPRESS_BYTES = 1 << 16
"""Compressing smaller frames costs more time than it saves."""

PACKED_ROWS = 500
"""Fewer rows are faster to dump and load as Arrow IPC, whose cost for each column is lower."""


def dump_frame(frame: pl.DataFrame, *, compress: bool = True) -> bytes:
    """Without `compress` it takes a third of the time to dump numbers, and a tenth to load them."""
    out = io.BytesIO()
    large = compress and frame.estimated_size() > COMPRESS_BYTES
    compression: Literal["lz4", "uncompressed"] = "lz4" if large else "uncompressed"
    # The oldest layout has one contiguous buffer for all strings of a column; views would also write hidden strings.
    frame.rechunk().write_ipc_stream(out, compression=compression, compat_level=pl.CompatLevel.oldest())
    return out.getvalue()


def frame_digest(frame: pl.DataFrame) -> int:
    """Equal for frames with the same rows in the same order and the same schema."""
    content = repr((frame.height, list(frame.schema.items()))).encode()
    if frame.height and frame.width:
        content += frame.hash_rows(seed=0).to_numpy().tobytes()
    return digest_of(content)


def frame_record(producer: int, seq: int, frame: pl.DataFrame) -> Record:
    return record(Kind.DATA, producer, seq, dump_frame(frame), frame_digest(frame))


def dump_rows(frame: pl.DataFrame, *, compress: bool = True) -> bytes:
    """As `dump_frame`, but packed if there are many rows of numbers and texts: only this version of the program reads
    it, so it is for data that ends with its job."""
    packed = _packed(frame)
    return dump_frame(frame, compress=compress) if packed is None else packed.dump()


def rows_record(producer: int, seq: int, frame: pl.DataFrame) -> Record:
    """As `frame_record`, with the body of `dump_rows`."""
    packed = _packed(frame)
    if packed is None:
        return frame_record(producer, seq, frame)
    digest = _packed_digest(packed) if packed.is_canonical else frame_digest(frame)
    return record(Kind.DATA, producer, seq, packed.dump(), digest)


def _packed(frame: pl.DataFrame) -> Packed | None:
    return pack(frame) if frame.height >= PACKED_ROWS else None


def _packed_digest(packed: Packed) -> int:
    return digest_of(packed.header() + digest_bytes(packed.body).to_bytes(8, "little"))


def load_frame(data: bytes) -> pl.DataFrame:
    return unpack(data) if is_packed(data) else pl.read_ipc_stream(io.BytesIO(data))
