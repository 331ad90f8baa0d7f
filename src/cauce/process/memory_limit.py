"""Sizes of memory: as text, of this machine or its control group, and the parts of a worker's budget."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from cauce.errors import UsageError
from cauce.process.control_group import kernel_text, memory_groups

_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([kmgt]?)(i?)b?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}

LEAST_WORKER_BYTES = 160_000_000
"""A worker needs this much for its libraries and for a part that it reads."""
_LIBRARIES_BYTES = 100_000_000
"""Of a worker: interpreter, libraries, compiled kernels (measured: 85 to 95 MB, most of it shared after a fork)."""

FOLD_FACTOR = 7
"""Peak memory of a fold divided by the size of its input or state: `python -m bench.memory_factors` measures it."""
_MOST_FOLD_BYTES = 32 << 20
"""Larger folds are slower: their tables exceed the caches of a processor, and their snapshots take long to write."""
_UNKNOWN_BYTES = 4 << 30


def parse_size(text: str, option: str = "--memory") -> int:
    """The bytes of a size such as 1GB, 512MiB or 1.5g."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"invalid value {text!r} of {option}; expected a size such as 1GB, 512MiB or 1500MB")
    number, unit, binary = found.groups()
    return int(float(number) * (1024 if binary else 1000) ** _POWERS[unit.lower()])


def machine_memory() -> int:
    """The memory of this machine, or of its control group if that is less."""
    limits = [size for size in (_physical(), *_group_limits()) if size]
    return min(limits, default=_UNKNOWN_BYTES)


def default_memory() -> int:
    """Three quarters of the memory of this machine or its control group."""
    return machine_memory() * 3 // 4


def _physical() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0


def _group_limits() -> list[int]:
    """The limits of the own control group and of those above it, in both versions of control groups."""
    paths = [each.file("memory.limit_in_bytes", "memory.max") for group in memory_groups() for each in group.upwards()]
    texts = (kernel_text(path).strip() for path in paths)
    return [int(text) for text in texts if text.isdigit()]


@dataclass(frozen=True)
class MemoryBudget:
    """The memory of one worker, and its parts."""

    worker_bytes: int

    @classmethod
    def of(cls, given: str | int | None, workers: int, option: str = "--memory") -> MemoryBudget:
        """The share of one of `workers` workers in the given memory; by default in three quarters of the machine's."""
        total = parse_size(given, option) if isinstance(given, str) and given else int(given or default_memory())
        share = total // max(workers, 1)
        if given and share < LEAST_WORKER_BYTES:
            least, name = LEAST_WORKER_BYTES // 1_000_000, option.rstrip("=")
            raise UsageError(
                f"{name} {given} is too little for {workers} workers: each needs at least {least}MB; give at least "
                f"{least * workers}MB, or start fewer workers"
            )
        return cls(share)

    @property
    def _usable_bytes(self) -> int:
        return max(self.worker_bytes - _LIBRARIES_BYTES, 0)

    @property
    def fold_bytes(self) -> int:
        """The largest input or state of a fold that is computed at once. It is stored with a job: every worker must
        split its folds in the same way."""
        return min(self._usable_bytes // 2 // FOLD_FACTOR, _MOST_FOLD_BYTES)

    @property
    def whole_bytes(self) -> int:
        """The largest input of a fold that cannot be split: it may take all memory of its worker."""
        return self._usable_bytes // FOLD_FACTOR

    @property
    def broadcast_bytes(self) -> int:
        """The most that the broadcast inputs of a stage may weigh: with their join tables they take up to three times
        as much."""
        return self._usable_bytes // 3

    @property
    def collected_bytes(self) -> int:
        """The most that the folds of a worker hold together while they wait for the rest of their input."""
        return self._usable_bytes // 4

    @property
    def kept_bytes(self) -> int:
        """Freed memory that a worker keeps: what the computation of a fold takes, so that the next one need not
        allocate it again."""
        return self._usable_bytes // 2

    @property
    def part_bytes(self) -> int:
        """The largest part of a table: a scan takes some times its size."""
        return max(self._usable_bytes // 32, 1 << 20)
