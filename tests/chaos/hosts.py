"""Hosts for tests that partition the network."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from cauce.lab.broker.hosts import Host, problem

CAPABILITIES = (12, 21)
"""Administration of the network, and of the system, which mounts a namespace under its name."""


def require_namespaces() -> None:
    """Skips the test if namespaces cannot be created; in continuous integration it fails if the permissions are
    there."""
    found = problem()
    if found is None:
        return
    if os.environ.get("CI") and _has_rights():
        pytest.fail(found)
    pytest.skip(found)


def _has_rights() -> bool:
    found = re.search(r"^CapEff:\s*(\w+)$", Path("/proc/self/status").read_text(), re.MULTILINE)
    held = int(found[1], 16) if found else 0
    return all(held >> each & 1 for each in CAPABILITIES)


def on(host: Host, command: Sequence[str]) -> list[str]:
    return [*host.prefix, *command]
