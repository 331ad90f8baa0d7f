"""The memory control groups of this process, in both versions of control groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

MOUNTS = {1: "/sys/fs/cgroup/memory", 2: "/sys/fs/cgroup"}


class MemoryGroup(NamedTuple):
    """A group by its version and its path below the mount point; the root is empty."""

    version: int
    path: str

    def file(self, first: str, second: str) -> str:
        """The path of a file of the group, by its name in version 1 and in version 2."""
        return f"{MOUNTS[self.version]}{self.path}/{first if self.version == 1 else second}"

    def upwards(self) -> list[MemoryGroup]:
        """The group and all groups above it."""
        names = [name for name in self.path.split("/") if name]
        paths = ("".join(f"/{name}" for name in names[:count]) for count in range(len(names), -1, -1))
        return [MemoryGroup(self.version, path) for path in paths]


def memory_groups() -> Iterator[MemoryGroup]:
    for line in kernel_text("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            yield MemoryGroup(2, path.rstrip("/"))
        elif "memory" in controllers.split(","):
            yield MemoryGroup(1, path.rstrip("/"))


def kernel_text(path: str) -> str:
    """The content of a file of the kernel; empty if it cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""
