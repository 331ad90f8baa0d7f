"""Frames as Arrow IPC bytes. Equal frames give equal bytes: digests depend on it."""

from __future__ import annotations

import io
from typing import Literal

import polars as pl

COMPRESS_BYTES = 1 << 16
"""Below this, compressing takes longer than it saves."""


def dump_frame(frame: pl.DataFrame) -> bytes:
    out = io.BytesIO()
    compression: Literal["lz4", "uncompressed"] = "lz4" if frame.estimated_size() > COMPRESS_BYTES else "uncompressed"
    # The oldest layout has one contiguous buffer for all texts of a column; views would keep their history.
    frame.rechunk().write_ipc_stream(out, compression=compression, compat_level=pl.CompatLevel.oldest())
    return out.getvalue()


def load_frame(data: bytes) -> pl.DataFrame:
    return pl.read_ipc_stream(io.BytesIO(data))
