"""How much the service takes on. The same on every gateway of a fabric."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class ServiceLimits:
    """`jobs` are those that have not ended. A part has at most `part_bytes` as it is sent, `decompressed_bytes`
    when it is read, and `part_lines` lines or rows. `backlog_bytes` of a job may wait for the workers; `held_bytes`
    of all open jobs may be held. `references` are the folders below which clients may name files."""

    jobs: int = 1000
    jobs_per_owner: int = 100
    parts: int = 1_000_000
    part_bytes: int = 64 << 20
    decompressed_bytes: int = 256 << 20
    part_lines: int = 4 << 20
    backlog_bytes: int = 1 << 30
    held_bytes: int = 256 << 30
    receiving_seconds: float = 600.0
    results_seconds: float = 86_400.0
    references: tuple[Path, ...] = ()
    lanes: int = field(default_factory=lambda: os.cpu_count() or 1)
    """Into how many lanes the tables of a new job are divided: as many as there are workers."""
    partitions: int = 2
