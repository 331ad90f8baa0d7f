"""Cached directory listings are never stale."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from cauce.fabric.files.disk import Descriptors, Listing

HOUR_NS = 3600 * 10**9


def listing_of(folder: Path) -> Listing:
    return Listing(str(folder), Descriptors(10, os.O_RDONLY))


def stamp(folder: Path, time_ns: int) -> None:
    os.utime(folder, ns=(time_ns, time_ns))


@pytest.mark.parametrize("ahead_ns", [0, HOUR_NS])
def test_two_changes_within_one_tick_are_both_seen(tmp_path: Path, ahead_ns: int) -> None:
    tick_ns = time.time_ns() + ahead_ns
    listing = listing_of(tmp_path)
    for count in range(1, 5):
        (tmp_path / f"file-{count}").touch()
        stamp(tmp_path, tick_ns)
        assert len(listing.names()) == count


def test_a_folder_at_rest_is_not_listed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "b").touch()
    (tmp_path / "a").touch()
    stamp(tmp_path, time.time_ns() - HOUR_NS)
    listing = listing_of(tmp_path)
    first = listing.names()
    assert first == ["a", "b"]
    with monkeypatch.context() as patch:
        patch.setattr(os, "listdir", None)
        assert listing.names() is first
    (tmp_path / "c").touch()
    assert listing.names() == ["a", "b", "c"]
