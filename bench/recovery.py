"""Time from the kill of a worker until its lane continues: `python -m bench.recovery [--kills 100]`.

Runs jobs on generated books, kills a worker that runs a lane, and measures the time until another process appends to
the lane's journal. Aim: 0.5 s at the median, 2 s at the 99th percentile.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.commands import BOOKS_WITHOUT_TEXTS, CAUCE
from cauce.lab.chaos.processes import WORKER, family, kill
from cauce.lab.chaos.run import same_answers
from cauce.lab.generators import generate
from cauce.process.lease_count import LEASE_COUNTS_VARIABLE

POLL_S = 0.001
LONGEST_S = 60.0
PART_BYTES = 200_000
AIM_MEDIAN_S, AIM_P99_S = 0.5, 2.0


@dataclass(frozen=True)
class Lane:
    """A running lane: the folder of its journal, and the process id of the worker that holds its lease."""

    journal: Path
    holder: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--each-run", type=int, default=4, help="kills in one run (default: 4)")
    parser.add_argument("--scale", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        data, expected, out = (Path(scratch, name) for name in ("data", "expected", "out"))
        generate("books", data, scale=arguments.scale, seed=1)
        rng = random.Random(arguments.seed)
        with _run(data, expected) as process:
            process.wait()
        taken: list[float] = []
        while len(taken) < arguments.kills:
            with _run(data, out) as process:
                taken += _kill_workers(process, out, rng, min(arguments.each_run, arguments.kills - len(taken)))
            if process.returncode != 0 or same_answers(expected, out):
                sys.exit(f"a run under kills exited with code {process.returncode}, or its answer differs")
    sys.stdout.write(_report(taken))


@contextmanager
def _run(data: Path, out: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Starts a run. The block may kill its workers; the run then ends by itself."""
    command = [
        *CAUCE,
        "books",
        "--data",
        str(data),
        "--out",
        str(out),
        "--queries",
        BOOKS_WITHOUT_TEXTS,
        "--attempts",
        "10000",
    ]
    command += ["--part-bytes", str(PART_BYTES)]
    with tempfile.TemporaryFile() as errors:
        lease_counts = _lease_counts(out)
        lease_counts.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, LEASE_COUNTS_VARIABLE: str(lease_counts)}
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=errors)
        try:
            yield process
            process.wait()
        finally:
            process.kill()


def _kill_workers(process: subprocess.Popen[bytes], out: Path, rng: random.Random, most: int) -> list[float]:
    """Kills one busy worker after the other; returns the recovery time of each lane."""
    taken: list[float] = []
    while len(taken) < most and process.poll() is None:
        lane = _running_lane(process.pid, out, rng)
        if lane is None:
            time.sleep(POLL_S)
            continue
        before = _segments(lane.journal)
        started = time.monotonic()
        if not kill(lane.holder):
            continue
        if _continues(process, lane.journal, before):
            taken.append(time.monotonic() - started)
    return taken


def _lease_counts(out: Path) -> Path:
    return out.with_name(f"{out.name}-lease-counts")


def _running_lane(root: int, out: Path, rng: random.Random) -> Lane | None:
    """A random worker that holds leases, and the journal that it has appended to last."""
    workers = {each.pid for each in family(root, _lease_counts(out)) if each.role == WORKER and each.leases}
    newest: dict[int, tuple[int, Path]] = {}
    for segment in out.glob(".cauce-work/jobs/*/logs/journal.*/*"):
        try:
            changed_ns = segment.stat().st_mtime_ns
        except FileNotFoundError:
            continue
        writer = int(segment.name.split("-")[1], 16)
        if writer in workers and changed_ns > newest.get(writer, (0, segment))[0]:
            newest[writer] = changed_ns, segment
    if not newest:
        return None
    holder = rng.choice(sorted(newest))
    return Lane(newest[holder][1].parent, holder)


def _segments(journal: Path) -> set[str]:
    """Names of a journal's non-empty segments; each has one writer."""
    try:
        return {entry.name for entry in os.scandir(journal) if entry.stat().st_size}
    except FileNotFoundError:
        return set()


def _continues(process: subprocess.Popen[bytes], journal: Path, before: set[str]) -> bool:
    """Waits for another writer of the journal. False if the run ended before: the task was complete."""
    started = time.monotonic()
    while not _segments(journal) - before:
        if process.poll() is not None:
            return False
        if time.monotonic() - started > LONGEST_S:
            sys.exit(f"a lane made no progress for {LONGEST_S:.0f} s after its worker was killed")
        time.sleep(POLL_S)
    return True


def _report(taken: Sequence[float]) -> str:
    ordered = sorted(taken)
    p99 = ordered[-(-len(ordered) * 99 // 100) - 1]
    return (
        f"{len(ordered)} kills; a lane continued after {statistics.median(ordered):.3f} s at the median, "
        f"{p99:.3f} s at the 99th percentile, {ordered[-1]:.3f} s at most "
        f"(aims: {AIM_MEDIAN_S} s and {AIM_P99_S} s)\n"
    )


if __name__ == "__main__":
    main()
