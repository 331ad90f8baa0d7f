"""The number of leases of a worker, as tools read it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cauce.process.lease_count import LEASE_COUNTS_VARIABLE, LeaseCountFile, lease_count


def test_the_last_number_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LEASE_COUNTS_VARIABLE, str(tmp_path))
    file = LeaseCountFile()
    assert lease_count(tmp_path, os.getpid()) is None
    for count in (3, 70_000, 0):
        file.write(count)
        assert lease_count(tmp_path, os.getpid()) == count


def test_nothing_is_published_without_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(LEASE_COUNTS_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    LeaseCountFile().write(3)
    assert list(tmp_path.iterdir()) == []
