"""Records the calls that make files durable."""

from __future__ import annotations

import os

import pytest

Call = tuple[str, str]


def recorded(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """Calls of `fsync` and `rename` with their paths, in order."""
    seen: list[Call] = []
    fsync, replace, rename = os.fsync, os.replace, os.rename

    def recorded_fsync(fd: int) -> None:
        seen.append(("fsync", os.readlink(f"/proc/self/fd/{fd}")))
        fsync(fd)

    def recorded_replace(source: str, target: str) -> None:
        seen.append(("rename", str(target)))
        replace(source, target)

    def recorded_rename(source: str, target: str) -> None:
        seen.append(("rename", str(target)))
        rename(source, target)

    monkeypatch.setattr(os, "fsync", recorded_fsync)
    monkeypatch.setattr(os, "replace", recorded_replace)
    monkeypatch.setattr(os, "rename", recorded_rename)
    return seen
