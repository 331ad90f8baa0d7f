"""Workers are killed while their folds write temporary files: the answer has the same bytes."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from cauce.lab.chaos.processes import WORKER, family, kill

ROWS = 1_000_000
SQL = "SELECT k, count(*) AS n, sum(v) AS s FROM t GROUP BY k ORDER BY s DESC, k"
DEADLINE_S = 600.0


def command(data: Path, out: Path, *options: str) -> list[str]:
    run = [sys.executable, "-m", "cauce", "sql", SQL, "--data", str(data), "--out", str(out), "--workers", "2"]
    return [*run, "--attempts", "50", *options]


def temporary_files(work: Path) -> set[Path]:
    try:
        return set(work.glob("**/scratch/*/*"))
    except FileNotFoundError:
        # A directory was removed meanwhile: look again later.
        return set()


def kill_while_spilling(process: subprocess.Popen[bytes], work: Path, most: int) -> int:
    """Kills the workers whenever there are new temporary files, at most so often. Returns how many folds had them."""
    seen: set[Path] = set()
    rounds = 0
    deadline = time.monotonic() + DEADLINE_S
    while process.poll() is None and time.monotonic() < deadline:
        fresh = temporary_files(work) - seen
        if fresh and rounds < most:
            rounds += 1
            seen |= fresh | temporary_files(work)
            for each in family(process.pid, work):
                if each.role == WORKER:
                    kill(each.pid)
        time.sleep(0.02)
    return len({path.parent for path in seen})


@pytest.mark.slow
def test_kills_of_workers_that_write_temporary_files_change_nothing(tmp_path: Path) -> None:
    data, work = tmp_path / "data", tmp_path / "work"
    data.mkdir()
    keys = pl.int_range(ROWS, eager=True).shuffle(seed=1)
    pl.DataFrame({"k": keys, "v": keys % 997}).write_csv(data / "t.csv")
    subprocess.run(command(data, tmp_path / "free"), check=True, capture_output=True)
    options = ("--memory", "330MB", "--work", str(work))
    process = subprocess.Popen(command(data, tmp_path / "bound", *options), stdout=subprocess.PIPE)
    kills = kill_while_spilling(process, work, 4)
    process.communicate()
    assert process.returncode == 0
    assert kills >= 2, "no worker was killed while it wrote temporary files"
    assert (tmp_path / "bound" / "q1.csv").read_bytes() == (tmp_path / "free" / "q1.csv").read_bytes()
