"""How an upload is done, and how far it is. Light, so that a command may ask before anything is loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

PART_BYTES = 4 * 2**20
WINDOW = 8
CONNECTIONS = 4

Compress = Literal["auto", "zstd", "none"]
COMPRESS: tuple[Compress, ...] = ("auto", "zstd", "none")


@dataclass(frozen=True)
class Settings:
    """`auto` compresses unless nothing leaves this machine. The window is of parts that are not acknowledged yet."""

    compress: Compress = "auto"
    part_bytes: int = PART_BYTES
    window: int = WINDOW
    connections: int = CONNECTIONS


@dataclass(frozen=True)
class Sent:
    """How far the upload of a table is. `bytes` are those of its files, not of what travelled."""

    table: str
    bytes: int
    total_bytes: int
    parts: int
    """Parts that the service holds."""
    sent: int
    """Those of them that were sent this time."""


OnProgress = Callable[[Sent], None]
