"""Reads the kernel's counter of processes killed for lack of memory (OOM kills)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

_FIELD = b"oom_kill"


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
    groups = _text("/proc/self/cgroup").splitlines()
    for line in groups:
        _, controllers, group = line.split(":", 2)
        if not controllers:
            yield f"/sys/fs/cgroup{group.rstrip('/')}/memory.events"
        elif "memory" in controllers.split(","):
            yield f"/sys/fs/cgroup/memory{group.rstrip('/')}/memory.oom_control"
    # In a container the group names may be the host's, and the container's own group is mounted at the root.
    yield "/sys/fs/cgroup/memory.events"
    yield "/sys/fs/cgroup/memory/memory.oom_control"
    yield "/proc/vmstat"


def _read(path: str) -> int | None:
    try:
        with open(path, "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, value = line.partition(b" ")
        if name == _FIELD and value.isdigit():
            return int(value)
    return None


@cache
def _boot() -> str:
    return _text("/proc/sys/kernel/random/boot_id").strip()


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""
