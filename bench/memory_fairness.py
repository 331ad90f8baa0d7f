"""A job that needs many times the memory of a service beside small jobs of another owner:
`python -m bench.memory_fairness --memory 400MB --limit 1GB`.

Prints how long the small jobs take alone and beside it. Fails if an answer is wrong, a process was replaced, the kernel
killed one, or the large job ended before the small ones. Needs root.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from bench.memory_budget import Group
from bench.server_process import serving
from cauce.client import Service
from cauce.client.submission import SqlSubmission
from cauce.doctor.launch.service_dir import ServiceDir
from cauce.gateway.tokens import create_token
from cauce.process.memory_limit import parse_size

LONGEST_S = 600.0
LARGE = "SELECT count(*) AS n, sum(s) AS s FROM (SELECT k, sum(v) AS s, min(t) AS t FROM large GROUP BY k)"
SMALL = "SELECT k, count(*) AS n, sum(v) AS s FROM small GROUP BY k ORDER BY s DESC, k LIMIT 5"


@dataclass(frozen=True)
class Figures:
    alone_s: list[float]
    beside_s: list[float]
    kills: int
    replaced: list[str]
    """Processes that were there before and are not afterwards."""
    peak_bytes: int

    @property
    def ratio(self) -> float:
        return statistics.median(self.beside_s) / statistics.median(self.alone_s)


def _write_tables(folder: Path, large_rows: int, small_rows: int) -> None:
    rng = np.random.default_rng(1)
    for name, rows, keys in (("large", large_rows, rng.permutation(large_rows)), ("small", small_rows, None)):
        (folder / name).mkdir()
        made = rng.integers(0, 100, rows) if keys is None else keys
        frame = pl.DataFrame({"k": made, "v": rng.integers(0, 1000, rows)})
        text = pl.format("text of row {}", pl.col("k"))
        frame.with_columns(text.alias("t")).write_csv(folder / name / f"{name}.csv")


@contextmanager
def _within(group: Group) -> Iterator[None]:
    """Processes that are started in the block are in the group; this one is so only during the block."""
    before = Path(f"/proc/{os.getpid()}/cgroup").read_text()
    group.enter()
    try:
        yield
    finally:
        group.leave(before)


class SmallJobs:
    """Ten jobs at a time, again and again. All answers must be equal."""

    def __init__(self, url: str, token: str, count: int) -> None:
        self._service = Service(url, token, on_connection=None)
        self._count = count
        self._first: list[tuple[object, ...]] | None = None

    def upload(self, folder: Path) -> None:
        self._service.upload("small", folder / "small")

    def round(self) -> list[float]:
        """The seconds that each job of a round takes."""
        with ThreadPoolExecutor(self._count) as pool:
            return list(pool.map(lambda number: self._run(), range(self._count)))

    def _run(self) -> float:
        started = time.monotonic()
        rows = self._service.sql(SMALL, on="small")["q1"].rows()
        took_s = time.monotonic() - started
        self._first = self._first or rows
        if rows != self._first:
            sys.exit("an answer of a small job differs from the first one")
        return took_s


class LargeJob:
    def __init__(self, url: str, token: str) -> None:
        self._service = Service(url, token, on_connection=None)

    def start(self, folder: Path) -> None:
        self._service.upload("large", folder / "large")
        self._job = self._service.start(SqlSubmission(LARGE, "large", {}, "large"))

    @property
    def over(self) -> bool:
        return self._job.status().over

    def answer(self) -> tuple[object, ...]:
        return self._job.answers()["q1"].row(0)


def _wait_for(what: str, holds: Callable[[], bool]) -> None:
    due = time.monotonic() + LONGEST_S
    while not holds():
        if time.monotonic() > due:
            sys.exit(f"timeout after {LONGEST_S:.0f} s: waited for {what}")
        time.sleep(0.02)


def measure(arguments: argparse.Namespace, folder: Path) -> Figures:
    data, home = folder / "data", folder / "service"
    data.mkdir()
    home.mkdir()
    _write_tables(data, arguments.rows, arguments.small_rows)
    tokens = [create_token(home / "tokens.json", name) for name in ("one", "other")]
    group = Group(f"cauce-fairness-{os.getpid()}", parse_size(arguments.limit, "--limit"))
    options = ["--memory", arguments.memory, "--workers", "2", "--end-with", str(os.getpid())]
    try:
        with _served(group, home, options) as url:
            return _measure(arguments, data, home, url, tokens, group)
    finally:
        _wait_for("the processes of the service", group.is_empty)
        group.remove()


@contextmanager
def _served(group: Group, home: Path, options: list[str]) -> Iterator[str]:
    with _within(group):
        service = serving("serve", home, options)
        served = service.__enter__()
    try:
        yield served.url
    finally:
        service.__exit__(None, None, None)


def _measure(
    arguments: argparse.Namespace, data: Path, home: Path, url: str, tokens: list[str], group: Group
) -> Figures:
    small, large = SmallJobs(url, tokens[0], arguments.jobs), LargeJob(url, tokens[1])
    small.upload(data)
    small.round()
    alone_s = [each for _ in range(arguments.rounds) for each in small.round()]
    before = {each.name: each.pid for each in ServiceDir(home).running_processes()}
    large.start(data)
    _wait_for("temporary files of the large job", lambda: large.over or any(home.glob("**/scratch/*/*")))
    beside_s, peak = list[float](), 0
    for _ in range(arguments.rounds):
        seconds = small.round()
        peak = max(peak, group.used())
        if large.over:
            break
        beside_s += seconds
    if not beside_s:
        sys.exit("the large job ended before the small ones: give more --rows")
    found = large.answer()
    expected = (arguments.rows, int(pl.scan_csv(data / "large" / "large.csv").select(pl.sum("v")).collect().item()))
    if tuple(map(int, map(str, found))) != expected:
        sys.exit(f"the answer of the large job is {found} instead of {expected}")
    after = {each.name: each.pid for each in ServiceDir(home).running_processes()}
    replaced = [name for name, pid in before.items() if after.get(name) != pid]
    return Figures(alone_s, beside_s, group.kills(), replaced, peak)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory", default="400MB", help="budget of both workers together")
    parser.add_argument("--limit", default="1.2GB", help="limit of the control group of the whole service")
    parser.add_argument("--rows", type=int, default=20_000_000, help="groups of the large job")
    parser.add_argument("--small-rows", type=int, default=20_000)
    parser.add_argument("--jobs", type=int, default=10, help="small jobs at a time")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scratch", type=Path, help="directory for data and the service")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as folder:
        found = measure(arguments, Path(folder))
    for name, seconds in (("alone", found.alone_s), ("beside", found.beside_s)):
        sys.stdout.write(f"{name:<8}{statistics.median(seconds):6.2f} s median of {len(seconds)} small jobs\n")
    sys.stdout.write(
        f"ratio {found.ratio:.2f}; {found.kills} kills; peak of the service {found.peak_bytes / 1e6:,.0f} MB\n"
    )
    if found.kills or found.replaced:
        sys.exit(f"killed: {found.kills}; replaced: {', '.join(found.replaced) or 'none'}")


if __name__ == "__main__":
    main()
