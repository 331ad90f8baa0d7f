"""Digests of parts that client and gateway compute identically, so that they can compare their parts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec


def columns_digest(columns: Sequence[str] | None) -> str:
    """Digest of the column names sent with a body; empty if there were none."""
    return "" if columns is None else hashlib.sha256(msgspec.json.encode(tuple(columns))).hexdigest()[:16]
