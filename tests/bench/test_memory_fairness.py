"""Small jobs beside a job of another owner that needs many times the memory of the service."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import pytest

from bench.memory_budget import Group
from bench.memory_fairness import measure


def may_limit_memory() -> bool:
    try:
        Group(f"cauce-test-{os.getpid()}", 0).remove()
    except OSError:
        return False
    return True


@pytest.mark.soak
@pytest.mark.skipif(not may_limit_memory(), reason="needs root and control groups")
def test_a_job_that_exceeds_the_memory_ends_and_small_ones_are_answered_meanwhile(tmp_path: Path) -> None:
    options = argparse.Namespace(memory="330MB", limit="1.2GB", rows=8_000_000, small_rows=5_000, jobs=10, rounds=2)
    # Exits if an answer is wrong, or if no small job was answered while the large one ran.
    found = measure(options, tmp_path)
    sys.stdout.write(f"small jobs took {found.ratio:.2f} times as long as alone\n")
    assert found.beside_s
    assert not found.kills
    assert not found.replaced
