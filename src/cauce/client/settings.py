"""Settings of connections and uploads, and upload progress. Must not import anything heavy, because commands load it
first."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

PART_BYTES = 4 * 2**20
LARGE_FILE_BYTES, LARGE_PART_BYTES = 64 * 2**20, 8 * 2**20
"""A text file of this size or more is cut into larger parts: half of the requests and records. The lines of a part are
limited, so much larger parts would be refused if their lines are short."""
WINDOW = 8
CONNECTIONS = 4

PATIENCE_S = 120.0
"""Retry limit of a request while no gateway responds."""
ASK_PATIENCE_S = 2.0
"""The same for a query of an interactive command."""
ANSWER_S, ASK_ANSWER_S = 60.0, 15.0

OnConnection = Callable[[str], None]
"""Called with a message when no gateway can be reached any more, and when one can again."""


def log_connection(sentence: str) -> None:
    logging.getLogger("cauce.client").warning("%s", sentence)


@dataclass(frozen=True)
class ConnectionSettings:
    """While no gateway can be reached, a request is retried for `patience_s` after the last response of any gateway.
    `on_connection` is called at once. `answer_s` is the timeout of a response."""

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
    """`auto` compresses unless all gateways are on loopback addresses. `part_bytes` is 0 for a size that depends on
    the size of each file. `window` limits the unacknowledged parts."""

    compress: Compress = "auto"
    part_bytes: int = 0
    window: int = WINDOW
    connections: int = CONNECTIONS


@dataclass(frozen=True)
class Sent:
    """Upload progress of a table. `bytes` counts file bytes, not bytes on the network."""

    table: str
    """Its name as people know it."""
    bytes: int
    total_bytes: int
    parts: int
    """Parts that the service holds."""
    sent: int
    """Those of them that this upload sent."""


OnProgress = Callable[[Sent], None]
