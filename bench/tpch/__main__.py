"""All 22 queries of TPC-H from their SQL text as one job, compared with DuckDB and Polars:
`python -m bench.tpch [--scale 1]`.

All read the same CSV files from `tpchgen-cli`, start to end, and their answers must be equal. DuckDB loads each file
once and keeps its tables in memory. Polars answers all queries in one `collect_all` of its in-memory engine, which took
a quarter of the processor time of its streaming engine. Cauce keeps nothing. `--keep DIR` keeps the files for the next
time.

`--kill-every 1` also runs Cauce while one of its busy workers is killed every second on average.

`--memory 1GB --limit 1.3GB` runs Cauce once without a limit, and Cauce and DuckDB with this memory in a control group
with this limit (needs root). The kernel must kill no process of Cauce, and all answers must be those of DuckDB; if it
fails with this memory, those of DuckDB without a limit.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.data import size_mb
from bench.measure import report, side_by_side, warm
from bench.memory_budget import Outcome, run
from bench.tpch.answers import differences
from bench.tpch.suite import cauce_arguments, generated
from cauce.process.memory_limit import parse_size
from cauce.process.starting import module_command

PEERS = {"duckdb": "DuckDB", "polars": "Polars"}
KILLED = "Cauce, workers killed"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="1 is about 1 GB")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", type=Path, metavar="DIR")
    parser.add_argument("--peers", default=",".join(PEERS), help="duckdb, polars, or both (default)")
    parser.add_argument("--kill-every", type=float, default=0.0, metavar="SECONDS", help="also run with kills")
    parser.add_argument("--memory", metavar="SIZE", help="budget of Cauce")
    parser.add_argument("--limit", metavar="SIZE", default="1.3GB", help="limit of the control group, with --memory")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cauce-tpch-") as folder:
        scratch = Path(folder)
        data = generated(given.keep or scratch, given.scale)
        warm(data)
        arguments = cauce_arguments(scratch, data, scratch / "cauce", given.workers)
        commands = {"Cauce": module_command("cauce", *arguments)}
        if given.memory:
            return within_limit(data, scratch, given)
        kills = scratch / "kills"
        if given.kill_every:
            killed = cauce_arguments(scratch, data, scratch / "killed", given.workers)
            commands[KILLED] = [sys.executable, "-m", "bench.killing", str(given.kill_every), str(kills), *killed]
        names = [name for name in PEERS if name in given.peers.split(",")]
        commands |= {PEERS[name]: peer_command(name, data, scratch, given.workers) for name in names}
        results = side_by_side(commands, given.rounds)
        sys.stdout.write(f"22 queries over {size_mb(data):.0f} MB, {given.workers} workers or threads\n\n")
        sys.stdout.write(report(results, "Cauce") + "\n")
        if given.kill_every:
            sys.stdout.write(f"workers killed in each round: {' '.join(kills.read_text().split())}\n")
        different = [
            f"{query} of {other}"
            for other in ("killed", *names)
            if (scratch / other).is_dir()
            for query in differences(scratch / "cauce", scratch / other)
        ]
    return conclusion(different)


def conclusion(different: list[str]) -> int:
    sys.stdout.write(f"answers differ: {', '.join(different)}\n" if different else "all answers are equal\n")
    return 1 if different else 0


def peer_command(name: str, data: Path, scratch: Path, threads: int) -> list[str]:
    return [sys.executable, "-m", f"bench.tpch.in_{name}", str(data), str(scratch / name), str(threads)]


def within_limit(data: Path, scratch: Path, given: argparse.Namespace) -> int:
    limit = parse_size(given.limit, "--limit")

    def measured(name: str, command: list[str], folder: str, limit_bytes: int) -> Outcome:
        outcome = run(command, scratch / folder / "q01.parquet", limit_bytes)
        sys.stdout.write(f"{name:<16}{outcome}\n")
        sys.stdout.flush()
        return outcome

    def cauce(folder: str) -> list[str]:
        return module_command("cauce", *cauce_arguments(scratch, data, scratch / folder, given.workers))

    bound = measured(f"Cauce, {given.memory}", [*cauce("bound"), "--memory", given.memory], "bound", limit)
    free = measured("Cauce, no limit", cauce("cauce"), "cauce", 0)
    duckdb = peer_command("duckdb", data, scratch, given.workers)
    peer = measured(f"DuckDB, {given.memory}", [*duckdb, "--memory", given.memory], "duckdb", limit)
    if bound.kills or not bound.digest or not free.digest:
        return 1
    sys.stdout.write(f"to no limit: {bound.ratio(free)}")
    sys.stdout.write(f"; to DuckDB: {bound.ratio(peer)}\n" if peer.digest else "\n")
    if not peer.digest:
        subprocess.run(duckdb, check=True)
    changed = [f"{query} with {given.memory}" for query in other_bytes(scratch / "bound", scratch / "cauce")]
    return conclusion([*changed, *differences(scratch / "bound", scratch / "duckdb")])


def other_bytes(ours: Path, theirs: Path) -> list[str]:
    """The answers whose files differ."""
    names = [file.name for file in sorted(ours.glob("q*.parquet"))]
    return [name for name in names if (ours / name).read_bytes() != (theirs / name).read_bytes()]


if __name__ == "__main__":
    sys.exit(main())
