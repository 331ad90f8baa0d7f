"""Limits of the service. They must be the same on every gateway of a fabric."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from cauce.job.manifest import MemoryShares


@dataclass(frozen=True)
class ServiceLimits:
    """`jobs` and `jobs_per_owner` limit open jobs; `kept_jobs_per_owner` limits all jobs of an owner with a token. A
    part has at most `part_bytes` as sent, `decompressed_bytes` decompressed, and `part_lines` lines or rows. At most
    `backlog_bytes` of a job may be unread by the workers, and at most `held_bytes` stored for all open jobs. Clients
    may reference files below `references`, except in `private`: the service's own files and folders."""

    jobs: int = 1000
    jobs_per_owner: int = 100
    kept_jobs_per_owner: int = 1000
    parts: int = 1_000_000
    part_bytes: int = 64 << 20
    decompressed_bytes: int = 256 << 20
    part_lines: int = 4 << 20
    backlog_bytes: int = 1 << 30
    held_bytes: int = 256 << 30
    receiving_seconds: float = 600.0
    results_seconds: float = 86_400.0
    kept_datasets_per_owner: int = 100
    kept_bytes_per_owner: int = 64 << 30
    kept_seconds: float = 604_800.0
    """How long a kept dataset is kept after its last upload, unless its owner chooses another time."""
    references: tuple[Path, ...] = ()
    private: tuple[Path, ...] = ()
    lanes: int = field(default_factory=lambda: os.cpu_count() or 1)
    """Lanes per table of a new job: as many as there are workers."""
    partitions: int = 2
    memory: MemoryShares = field(default_factory=MemoryShares)
    """Sizes from which the folds of a new job are split."""
