"""Direct access to the segment files of a log, to inspect and damage them."""

from __future__ import annotations

from pathlib import Path

from cauce.fabric.records import Kind, Record, record

RECORDS = [record(Kind.DATA, 0, seq, bytes([seq + 1]) * 30) for seq in range(3)]


def segments(root: Path, log: str = "log", job: str = "j") -> list[Path]:
    return sorted((root / "jobs" / job / "logs" / log).iterdir())


def only_segment(root: Path, log: str = "log") -> Path:
    (segment,) = segments(root, log)
    return segment


def more(seq: int, size: int = 30) -> Record:
    return record(Kind.DATA, 0, seq, bytes(size))
