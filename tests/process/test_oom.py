"""OOM scores: the kernel kills workers before gateways and doctors."""

from __future__ import annotations

import os
import subprocess
import sys

CODE = """
import subprocess, sys
from pathlib import Path
from cauce.process.oom import raise_oom_score, restore_oom_score

def score():
    return int(Path("/proc/self/oom_score_adj").read_text())
"""


def scores(code: str) -> list[int]:
    """Runs in a separate process, so that the score of this one does not change."""
    # Another test may have raised the score of this process.
    environment = {name: value for name, value in os.environ.items() if name != "CAUCE_OOM_SCORE_ADJ"}
    done = subprocess.run(
        [sys.executable, "-c", CODE + code], env=environment, check=True, capture_output=True, text=True
    )
    return [int(word) for word in done.stdout.split()]


def test_the_score_is_raised_and_never_lowered() -> None:
    assert scores("raise_oom_score(600); print(score()); raise_oom_score(500); print(score())") == [600, 600]


def test_a_child_of_a_worker_can_restore_the_score() -> None:
    child = CODE + "restore_oom_score(); print(score())"
    start = f"subprocess.run([sys.executable, '-c', {child!r}], check=True)"
    before, after = scores(f"print(score(), flush=True); raise_oom_score(500)\n{start}")
    assert before == after
