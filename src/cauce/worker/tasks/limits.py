"""Limits of a worker: bytes per step, snapshots, pages, crashes, leases."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """A step reads at most `read_bytes` of a log. A fold takes a snapshot after reading `snapshot_bytes`, or the size
    of its state if that is larger: a restart replays at most that much. A page of an answer has at most `page_rows`
    rows, and fewer if they exceed `page_bytes`. A job fails after `lethal_attempts` consecutive worker crashes. Without
    a `journal` a lane starts over after a crash."""

    read_bytes: int = 8 << 20
    snapshot_bytes: int = 32 << 20
    page_rows: int = 10_000
    page_bytes: int = 16 << 20
    record_rows: int = 250_000
    lethal_attempts: int = 3
    journal: bool = True
    run_id: str | None = None
    """Id of the worker pool; crashes under an earlier id are not counted."""
    collected_bytes: int = 0
    """The most that folds hold together while they wait for the rest of their input; 0: no limit."""
    leases: int = 1 << 20
    """The maximum number of leases that a worker holds."""
