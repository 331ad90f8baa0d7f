"""Reads the kernel's counter of processes killed for lack of memory (OOM kills)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from cauce.process.control_group import MemoryGroup, kernel_text, memory_groups

_FIELD = "oom_kill"


@dataclass(frozen=True)
class MemoryKills:
    """`scope` identifies the counter: of this control group, or of this host since its boot. Counts of different scopes
    cannot be compared."""

    scope: str = ""
    count: int = 0


def memory_kills() -> MemoryKills:
    """The current count; an empty scope if the kernel has no counter."""
    path, scope = _source()
    count = _read(path) if path else None
    return MemoryKills() if count is None else MemoryKills(scope, count)


@cache
def _source() -> tuple[str, str]:
    """The narrowest counter available: of the own control group, else of the host."""
    for path in _candidates():
        if _read(path) is not None:
            found = os.stat(path)
            return path, f"{_boot()}/{found.st_dev}/{found.st_ino}"
    return "", ""


def _candidates() -> Iterator[str]:
    # In a container the group names may be the host's, and the container's own group is mounted at the root.
    for group in (*memory_groups(), MemoryGroup(2, ""), MemoryGroup(1, "")):
        yield group.file("memory.oom_control", "memory.events")
    yield "/proc/vmstat"


def _read(path: str) -> int | None:
    for line in kernel_text(path).splitlines():
        name, _, value = line.partition(" ")
        if name == _FIELD and value.isdigit():
            return int(value)
    return None


@cache
def _boot() -> str:
    return kernel_text("/proc/sys/kernel/random/boot_id").strip()
