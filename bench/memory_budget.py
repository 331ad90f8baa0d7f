"""Runs with a memory budget in a control group: `python -m bench.memory_budget --memory 1GB --limit 1.3GB`.

For each scenario: the answer without a limit and with one must have the same bytes, and the kernel must kill no
process. Prints time, processor time and peak memory of both, and of DuckDB with the same memory and threads in the same
group, and the ratios to them. Needs root.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from cauce.process.memory_limit import parse_size

SAMPLE_S = 0.05

Generate = Callable[[Path, int], None]


@dataclass(frozen=True)
class Scenario:
    """`rows` is the full number of rows; `--scale` divides it. One that `needs_all` rows of a key at once may end with
    `[memory]`."""

    name: str
    rows: int
    generate: Generate
    sql: str
    needs_all: bool = False


def _write(folder: Path, table: str, columns: dict[str, object]) -> None:
    pl.DataFrame(columns).write_csv(folder / f"{table}.csv")


def _rng() -> np.random.Generator:
    return np.random.default_rng(1)


def _keys(folder: Path, rows: int) -> None:
    _write(folder, "t", {"k": _rng().permutation(rows), "v": _rng().integers(0, 1000, rows)})


def _one_key(folder: Path, rows: int) -> None:
    _write(folder, "t", {"k": np.ones(rows, np.int64), "v": _rng().permutation(rows)})


def _two_tables(folder: Path, rows: int) -> None:
    _write(folder, "a", {"k": _rng().permutation(rows), "x": _rng().integers(0, 1000, rows)})
    _write(folder, "b", {"k": np.arange(rows)[::-1], "y": _rng().integers(0, 1000, rows)})


def _hot_key(folder: Path, rows: int) -> None:
    """Half of one side has the same key; on the other side ten rows have it."""
    rare = np.arange(rows // 2) + 1
    _write(
        folder,
        "a",
        {"k": np.concatenate([np.zeros(rows // 2, np.int64), rare]), "x": _rng().integers(0, 9, rows // 2 * 2)},
    )
    _write(
        folder, "b", {"k": np.concatenate([np.zeros(10, np.int64), rare]), "y": _rng().integers(0, 9, rows // 2 + 10)}
    )


def _hot_both(folder: Path, rows: int) -> None:
    """Half of both sides has the same key. All their pairs would be 10**14 rows, so the query looks for a match."""
    for table, column, first in (("a", "x", 1), ("b", "y", rows // 4)):
        keys = np.concatenate([np.zeros(rows // 2, np.int64), np.arange(rows // 2) + first])
        _write(folder, table, {"k": _rng().permutation(keys), column: _rng().integers(0, 9, len(keys))})


def _broadcast(folder: Path, rows: int) -> None:
    """A large right side: 80 bytes each row."""
    _write(folder, "a", {"k": _rng().integers(0, rows * 2, rows // 10), "x": _rng().integers(0, 9, rows // 10)})
    numbered = pl.DataFrame({"k": np.arange(rows), "y": _rng().integers(0, 1000, rows)})
    text = pl.format("a text of some length about row number {}, and no more", pl.col("k"))
    numbered.with_columns(text.alias("t")).write_csv(folder / "b.csv")


def _square(folder: Path, rows: int) -> None:
    for table, column in (("a", "x"), ("b", "y")):
        _write(folder, table, {"k": np.ones(rows, np.int64), column: np.arange(rows)})


def _row_group(folder: Path, rows: int) -> None:
    """One row group, of which a row takes about 70 bytes."""
    numbers = _rng().integers(0, 1 << 40, rows)
    frame = pl.DataFrame({"k": np.arange(rows), "v": _rng().integers(0, 1000, rows), "n": numbers})
    text = pl.format("text of row {} with the number {}, which ends here", pl.col("k"), pl.col("n"))
    frame.with_columns(text.alias("t")).write_parquet(folder / "t.parquet", row_group_size=rows)


_GROUPS = "SELECT k, count(*) AS n, sum(v) AS s FROM t GROUP BY k ORDER BY s DESC, k LIMIT 100"
_JOIN = "SELECT x, count(*) AS n, sum(y) AS s FROM a JOIN b USING (k) GROUP BY x ORDER BY x"
_SEMI = "SELECT x, count(*) AS n FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k) GROUP BY x ORDER BY x"
_LOOKUP = "SELECT x, count(*) AS n, sum(y) AS s, max(t) AS t FROM a LEFT JOIN b USING (k) GROUP BY x ORDER BY x"
_TEXTS = "SELECT k % 100 AS g, sum(v) AS s, max(t) AS t FROM t GROUP BY ALL ORDER BY g"
_RANKS = "SELECT row_number() OVER w AS r, lag(v) OVER w AS s FROM t WINDOW w AS (PARTITION BY k ORDER BY v)"
_WINDOW = f"SELECT max(r) AS r, sum(s) AS s FROM ({_RANKS})"
_LIST = "SELECT k, len(list(v ORDER BY v)) AS n FROM t GROUP BY k"
_STRING_AGG = "SELECT k, length(string_agg(CAST(v AS VARCHAR), ',' ORDER BY v)) AS n FROM t GROUP BY k"
SCENARIOS = (
    Scenario("groups", 50_000_000, _keys, _GROUPS),
    Scenario("distinct", 50_000_000, _one_key, "SELECT k, count(DISTINCT v) AS n FROM t GROUP BY k"),
    Scenario("median", 100_000_000, _one_key, "SELECT median(v) AS m FROM t"),
    Scenario("join", 30_000_000, _two_tables, _JOIN),
    Scenario("hot-key", 30_000_000, _hot_key, _JOIN),
    Scenario("hot-both", 30_000_000, _hot_both, _SEMI),
    Scenario("square", 100_000, _square, "SELECT count(*) AS n, sum(x + y) AS s FROM a JOIN b USING (k)"),
    Scenario("broadcast", 40_000_000, _broadcast, _LOOKUP),
    Scenario(
        "row-group",
        25_000_000,
        _row_group,
        _TEXTS,
    ),
    Scenario("sorted", 20_000_000, _keys, "SELECT k, v FROM t ORDER BY v DESC, k"),
    Scenario("window", 30_000_000, _one_key, _WINDOW, needs_all=True),
    Scenario("list", 30_000_000, _one_key, _LIST, needs_all=True),
    Scenario("texts", 30_000_000, _one_key, _STRING_AGG, needs_all=True),
)


class Group:
    """A control group (version 1 or 2) with a memory limit, which also counts the processor time."""

    def __init__(self, name: str, limit_bytes: int) -> None:
        self._second = Path("/sys/fs/cgroup/cgroup.controllers").exists()
        self._folder = Path("/sys/fs/cgroup" if self._second else "/sys/fs/cgroup/memory", name)
        self._cpu = self._folder if self._second else Path("/sys/fs/cgroup/cpuacct", name)
        for folder in (self._folder, self._cpu):
            folder.mkdir(exist_ok=True)
        if limit_bytes:
            limit = "memory.max" if self._second else "memory.limit_in_bytes"
            (self._folder / limit).write_text(str(limit_bytes))
        self._kills_before = self._kills()

    def enter(self) -> None:
        """Moves the calling process into the group; called in a forked child."""
        for folder in {self._folder, self._cpu}:
            (folder / "cgroup.procs").write_text(str(os.getpid()))

    def leave(self, before: str) -> None:
        """Moves the calling process back to where it was; `before` is its `/proc/PID/cgroup` at that time."""
        for controller in ("",) if self._second else ("memory", "cpuacct"):
            _move_back(controller, before)

    def cpu_s(self) -> float:
        """Processor time of all its processes so far."""
        if self._second:
            return self._field("cpu.stat", "usage_usec") / 1e6
        return int((self._cpu / "cpuacct.usage").read_text()) / 1e9

    def is_empty(self) -> bool:
        return not any((folder / "cgroup.procs").read_text().strip() for folder in (self._folder, self._cpu))

    def used(self) -> int:
        """Memory of all its processes, without the page cache, which the kernel frees when it needs to."""
        return self._field("memory.stat", "anon" if self._second else "total_rss")

    def kills(self) -> int:
        return self._kills() - self._kills_before

    def _kills(self) -> int:
        return self._field("memory.events" if self._second else "memory.oom_control", "oom_kill")

    def _field(self, file: str, name: str) -> int:
        lines = (line.split() for line in (self._folder / file).read_text().splitlines())
        return next((int(value) for key, value in lines if key == name), 0)

    def remove(self) -> None:
        for folder in {self._folder, self._cpu}:
            folder.rmdir()


def _move_back(controller: str, before: str) -> None:
    lines = (line.split(":", 2) for line in before.splitlines())
    paths = {name: path for _, names, path in lines for name in names.split(",")}
    root = Path("/sys/fs/cgroup", controller)
    folder = root / paths.get(controller, "/").lstrip("/")
    # In a container the group that the kernel names may not be visible.
    ((folder if folder.is_dir() else root) / "cgroup.procs").write_text(str(os.getpid()))


@dataclass(frozen=True)
class Outcome:
    seconds: float
    cpu_s: float
    """Processor time of all its processes."""
    peak_bytes: int
    kills: int
    digest: str
    output: str = ""
    """The end of what it printed, if it failed."""

    @property
    def exceeded(self) -> bool:
        return "[memory]" in self.output

    def __str__(self) -> str:
        peak = f"peak {self.peak_bytes / 1e6:,.0f} MB"
        ending = f"answer {self.digest[:12]}" if self.digest else "[memory]" if self.exceeded else "FAILED"
        return f"{self.seconds:7.1f} s  {self.cpu_s:7.1f} s CPU  {peak:>14}  {self.kills} kills  {ending}"

    def ratio(self, other: Outcome) -> str:
        return f"{self.seconds / other.seconds:.1f} x time, {self.cpu_s / other.cpu_s:.1f} x CPU"


def run(command: Sequence[str], out: Path, limit_bytes: int) -> Outcome:
    """Runs a command in a new group, and digests the answer file that it writes."""
    group = Group(f"cauce-bench-{os.getpid()}", limit_bytes)
    started, peak = time.monotonic(), 0
    try:
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(command, preexec_fn=group.enter, stdout=output, stderr=output)
            while process.poll() is None:
                peak = max(peak, group.used())
                time.sleep(SAMPLE_S)
            output.seek(0)
            text = output.read().decode(errors="replace")
        failure = text[-500:] if process.returncode else ""
        if failure:
            sys.stdout.write(f"{failure}\n")
        digest = _digest(out) if process.returncode == 0 else ""
        return Outcome(time.monotonic() - started, group.cpu_s(), peak, group.kills(), digest, failure)
    finally:
        group.remove()


def _digest(out: Path) -> str:
    with out.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cauce(data: Path, sql: str, out: Path, memory: str) -> list[str]:
    options = ["--memory", memory] if memory else []
    return [
        sys.executable,
        "-m",
        "cauce",
        "sql",
        sql,
        "--data",
        str(data),
        "--out",
        str(out),
        "--workers",
        "2",
        *options,
    ]


_DUCKDB = """
import duckdb, sys
from pathlib import Path
data, sql, out, memory, scratch = sys.argv[1:]
db = duckdb.connect(config={"threads": 2, "memory_limit": memory, "temp_directory": scratch})
for file in Path(data).iterdir():
    db.execute(f"CREATE VIEW {file.stem} AS SELECT * FROM read_{file.suffix[1:]}('{file}')")
db.execute(f"COPY ({sql}) TO '{out}' (HEADER)")
"""


def duckdb(data: Path, sql: str, out: Path, memory: str, scratch: Path) -> list[str]:
    return [sys.executable, "-c", _DUCKDB, str(data), sql, str(out), memory, str(scratch)]


def compare(scenario: Scenario, arguments: argparse.Namespace, folder: Path) -> bool:
    """Runs a scenario. True if the answers are the same and no process was killed."""
    data = folder / "data"
    data.mkdir()
    scenario.generate(data, max(scenario.rows // arguments.scale, 10))
    size = sum(file.stat().st_size for file in data.iterdir())
    sys.stdout.write(f"{scenario.name}: {size / 1e6:,.0f} MB\n")
    limit = parse_size(arguments.limit, "--limit")
    free = run(cauce(data, scenario.sql, folder / "free", ""), folder / "free" / "q1.csv", 0)
    bound = run(cauce(data, scenario.sql, folder / "bound", arguments.memory), folder / "bound" / "q1.csv", limit)
    peer = run(
        duckdb(data, scenario.sql, folder / "duck.csv", arguments.memory, folder / "scratch"),
        folder / "duck.csv",
        limit,
    )
    for name, outcome in (("no limit", free), (arguments.memory, bound), ("DuckDB", peer)):
        sys.stdout.write(f"  {name:<10}{outcome}\n")
    sys.stdout.write(f"  to no limit: {bound.ratio(free)}")
    sys.stdout.write(f"; to DuckDB: {bound.ratio(peer)}\n" if peer.digest else "\n")
    sys.stdout.flush()
    if scenario.needs_all and bound.exceeded:
        return not bound.kills
    return bool(free.digest) and free.digest == bound.digest and not bound.kills


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory", default="1GB", help="budget of both programs")
    parser.add_argument("--limit", default="1.3GB", help="limit of the control group")
    parser.add_argument("--scale", type=int, default=1, help="divides the number of rows")
    parser.add_argument("--scratch", type=Path, help="directory for data and answers")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(each.name for each in SCENARIOS)}; default: all")
    arguments = parser.parse_args()
    failed = []
    for scenario in SCENARIOS:
        if not arguments.names or scenario.name in arguments.names:
            folder = Path(tempfile.mkdtemp(dir=arguments.scratch))
            try:
                if not compare(scenario, arguments, folder):
                    failed.append(scenario.name)
            finally:
                shutil.rmtree(folder)
    if failed:
        sys.exit(f"different answers, failures or kills: {', '.join(failed)}")


if __name__ == "__main__":
    main()
