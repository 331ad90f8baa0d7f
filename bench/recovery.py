"""The time until a lane continues after its worker was killed: `python -m bench.recovery [--kills 100]`.

Runs jobs on generated books, kills a worker that is at work on a lane, and takes the time from the kill until
another process writes to the lane's journal. Aim: half a second at the median, two seconds at the 99th percentile.
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
    """A lane at work, as its journal shows it: the folder, and the segment of the worker that holds it."""

    journal: Path
    holder: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--each-run", type=int, default=4, help="kills in one run; many look like a crash loop")
    parser.add_argument("--scale", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        data, calm, out = (Path(scratch, name) for name in ("data", "calm", "out"))
        generate("books", data, scale=arguments.scale, seed=1)
        rng = random.Random(arguments.seed)
        with _run(data, calm) as undisturbed:
            undisturbed.wait()
        taken: list[float] = []
        while len(taken) < arguments.kills:
            with _run(data, out) as process:
                taken += _disturb(process, out, rng, min(arguments.each_run, arguments.kills - len(taken)))
            if process.returncode != 0 or same_answers(calm, out):
                sys.exit(f"a run under kills ended with exit code {process.returncode}, or with another answer")
    sys.stdout.write(_told(taken))


@contextmanager
def _run(data: Path, out: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run that may be disturbed within the block, and ends by itself."""
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


def _disturb(process: subprocess.Popen[bytes], out: Path, rng: random.Random, most: int) -> list[float]:
    """Kills one worker after the other while there are any; how long each lane took to go on."""
    taken: list[float] = []
    while len(taken) < most and process.poll() is None:
        lane = _lane_at_work(process.pid, out, rng)
        if lane is None:
            time.sleep(POLL_S)
            continue
        before = _segments(lane.journal)
        started = time.monotonic()
        if not kill(lane.holder):
            continue
        if _goes_on(process, lane.journal, before):
            taken.append(time.monotonic() - started)
    return taken


def _lease_counts(out: Path) -> Path:
    return out.with_name(f"{out.name}-lease-counts")


def _lane_at_work(root: int, out: Path, rng: random.Random) -> Lane | None:
    """A worker with leases, and the journal that it has written to last."""
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
    """Names of a journal's segments that hold something; each is of one writer."""
    try:
        return {entry.name for entry in os.scandir(journal) if entry.stat().st_size}
    except FileNotFoundError:
        return set()


def _goes_on(process: subprocess.Popen[bytes], journal: Path, before: set[str]) -> bool:
    """Waits for another writer of the journal. False if the run ended meanwhile: there was nothing left to do."""
    started = time.monotonic()
    while not _segments(journal) - before:
        if process.poll() is not None:
            return False
        if time.monotonic() - started > LONGEST_S:
            sys.exit(f"a lane stood still for {LONGEST_S:.0f} s after its worker's death")
        time.sleep(POLL_S)
    return True


def _told(taken: Sequence[float]) -> str:
    ordered = sorted(taken)
    p99 = ordered[-(-len(ordered) * 99 // 100) - 1]
    return (
        f"{len(ordered)} kills; a lane went on after {statistics.median(ordered):.3f} s at the median, "
        f"{p99:.3f} s at the 99th percentile, {ordered[-1]:.3f} s at most "
        f"(aims: {AIM_MEDIAN_S} s and {AIM_P99_S} s)\n"
    )


if __name__ == "__main__":
    main()
