"""A disk for tests that cut its power."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cauce.lab.power.mounting import DEVICE, why_impossible
from cauce.lab.power.volatile_disk import VolatileDisk


@pytest.fixture
def volatile_disk(tmp_path: Path) -> Iterator[VolatileDisk]:
    """Skips the test where nothing can be mounted. In continuous integration, mounting must succeed for root."""
    reason = why_impossible()
    if reason is not None:
        pytest.skip(f"no power can be cut here: {reason}")
    try:
        disk = VolatileDisk(tmp_path / "disk")
    except (OSError, ChildProcessError) as problem:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no power can be cut here: {DEVICE} exists, but mounting failed ({problem})")
    with disk:
        yield disk
