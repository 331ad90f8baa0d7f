"""How gateways are reached, how an upload is done, and how far it is. Light, so that a command may ask before
anything is loaded."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

PART_BYTES = 4 * 2**20
WINDOW = 8
CONNECTIONS = 4

PATIENCE_S = 120.0
"""How long work is retried while no gateway answers."""
ASK_PATIENCE_S = 2.0
"""The same for a question that somebody waits for."""
ANSWER_S, ASK_ANSWER_S = 60.0, 15.0

OnConnection = Callable[[str], None]
"""Told in a sentence when no gateway can be reached any more, and when one can again."""


def log_connection(sentence: str) -> None:
    logging.getLogger("cauce.client").warning("%s", sentence)


@dataclass(frozen=True)
class ConnectionSettings:
    """How gateways are reached. While none can be, a request is retried for `patience_s`, counted from the last
    answer of any of them; `on_connection` is told at once. An answer may take `answer_s`."""

    token: str | None = None
    ca: str | None = None
    patience_s: float = PATIENCE_S
    answer_s: float = ANSWER_S
    connections: int = CONNECTIONS
    on_connection: OnConnection | None = log_connection


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
