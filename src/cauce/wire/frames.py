"""Frames as Arrow IPC bytes, and digests of what they say.

Equal frames may have different bytes (what lies under a null, the unused bits of a mask), so a frame's digest is
made of its rows. Such digests are comparable within one version of Polars, which is part of every plan's digest.
"""

from __future__ import annotations

import io
from typing import Literal

import polars as pl

from cauce.wire.records import Kind, Record, digest_of, record

COMPRESS_BYTES = 1 << 16
"""Below this, compressing takes longer than it saves."""


def dump_frame(frame: pl.DataFrame) -> bytes:
    out = io.BytesIO()
    compression: Literal["lz4", "uncompressed"] = "lz4" if frame.estimated_size() > COMPRESS_BYTES else "uncompressed"
    # The oldest layout has one contiguous buffer for all texts of a column; views would drag along what they hide.
    frame.rechunk().write_ipc_stream(out, compression=compression, compat_level=pl.CompatLevel.oldest())
    return out.getvalue()


def frame_digest(frame: pl.DataFrame) -> int:
    """The same for the same rows in the same order, under the same names and types."""
    said = repr((frame.height, list(frame.schema.items()))).encode()
    if frame.height and frame.width:
        said += frame.hash_rows(seed=0).to_numpy().tobytes()
    return digest_of(said)


def frame_record(producer: int, seq: int, frame: pl.DataFrame) -> Record:
    return record(Kind.DATA, producer, seq, dump_frame(frame), frame_digest(frame))


def load_frame(data: bytes) -> pl.DataFrame:
    return pl.read_ipc_stream(io.BytesIO(data))
