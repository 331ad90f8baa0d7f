"""Digests of parts that client and gateway compute alike, so that one can compare what it has with the other's."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec


def columns_digest(columns: Sequence[str] | None) -> str:
    """A digest of the column names that were sent beside a body; empty where none were."""
    return "" if columns is None else hashlib.sha256(msgspec.json.encode(tuple(columns))).hexdigest()[:16]
