"""Compares many concurrent clients of a service with one: total time, and whether every answer is correct.

    python -m bench.clients --dataset books --clients 1,10,100 --scale 0.01

Each client submits the same files as its own job and reads every answer. Prints ratios to one client over several
rounds. `--fabric` (repeatable) measures several fabrics in one run: `files`, or `rabbitmq` for a private node.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from bench import data
from bench.server_process import ServerProcess, cpu_of, serving
from cauce.client import Service
from cauce.datasets import BUILT_IN, load
from cauce.errors import CauceError, JobFailed

FABRICS = ("files", "rabbitmq")

Answers = dict[str, pl.DataFrame]


@dataclass(frozen=True)
class Deployment:
    """A service on one fabric, and the processes of its broker."""

    fabric: str
    service: ServerProcess
    broker: Sequence[int] = ()


@dataclass
class Taken:
    seconds: list[float] = field(default_factory=list)
    broker_share: list[float] = field(default_factory=list)
    """The broker's share of the processor time of service and broker."""
    processor_s: list[float] = field(default_factory=list)
    """Processor time of service and broker."""

    @property
    def median_s(self) -> float:
        return statistics.median(self.seconds)


@contextmanager
def deployment(fabric: str, folder: Path, workers: int) -> Iterator[Deployment]:
    options = ["--workers", str(workers), "--gateways", "2"]
    with ExitStack() as stack:
        pids: Sequence[int] = ()
        if fabric == "rabbitmq":
            from cauce.lab.broker.nodes import start

            nodes = start(folder / "broker")
            stack.callback(nodes.stop)
            pids = [pid for name in nodes.names if (pid := nodes.pid(name)) is not None]
            options += ["--fabric", nodes.address]
        yield Deployment(fabric, stack.enter_context(serving("serve", folder / "service", options)), pids)


def one_client(url: str, dataset: str, files: Path, queries: Sequence[str]) -> Answers:
    """Submits a job, reads every answer and deletes the job, so that jobs do not accumulate over the rounds."""
    with Service(url) as service:
        job = service.submit(dataset, files, queries)
        answers = {query: job.results(query) for query in queries}
        job.cancel()
    return answers


def all_clients(where: Deployment, dataset: str, files: Path, queries: Sequence[str], count: int, taken: Taken) -> None:
    service_s, broker_s = where.service.cpu_s(), cpu_of(where.broker)
    started = time.monotonic()
    with ThreadPoolExecutor(count) as pool:
        waiting = [pool.submit(one_client, where.service.url, dataset, files, queries) for _ in range(count)]
        answers = [each.result() for each in waiting]
    taken.seconds.append(time.monotonic() - started)
    service_s, broker_s = where.service.cpu_s() - service_s, cpu_of(where.broker) - broker_s
    taken.broker_share.append(broker_s / max(service_s + broker_s, 1e-9))
    taken.processor_s.append(service_s + broker_s)
    wanted = expected(dataset, files, queries)
    for answer in answers:
        if not all(answer[query].equals(wanted[query]) for query in queries):
            raise JobFailed(
                f"a client of {dataset} on {where.fabric} got an answer that differs from that of `cauce run`"
            )


def expected(dataset: str, files: Path, queries: Sequence[str]) -> Answers:
    key = (dataset, str(files), tuple(queries))
    if key not in _expected:
        import cauce

        found = cauce.run(dataset, files, queries)
        _expected[key] = {query: found[query] for query in queries}
    return _expected[key]


_expected: dict[tuple[str, str, tuple[str, ...]], Answers] = {}


def rows_in(files: Path) -> int:
    """The approximate number of rows: line ends in all CSV files."""
    return sum(path.read_bytes().count(b"\n") for path in files.rglob("*.csv"))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.clients", description=__doc__)
    parser.add_argument("--dataset", choices=BUILT_IN, default="books")
    parser.add_argument("--queries", default="", help="such as q1,q2 (default: all)")
    parser.add_argument("--clients", default="1,10,100", help="numbers of concurrent clients (default: 1,10,100)")
    parser.add_argument("--scale", type=float, default=0.01, help="scale of the data of each client (default: 0.01)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--fabric", action="append", choices=FABRICS, help="repeatable (default: files)")
    parser.add_argument("--out", type=Path, default=Path(".cache/bench"), help="cache for generated files")
    given = parser.parse_args(arguments)
    queries = [each for each in given.queries.split(",") if each] or list(load(given.dataset).queries)
    counts = [int(each) for each in given.clients.split(",")]
    files = data.generated(given.out.absolute() / "data", given.dataset, given.scale)
    fabrics = list(dict.fromkeys(given.fabric or ["files"]))
    taken = {(fabric, count): Taken() for fabric in fabrics for count in counts}
    with tempfile.TemporaryDirectory(prefix="cauce-clients-") as scratch, ExitStack() as stack:
        deployments = [stack.enter_context(deployment(name, Path(scratch) / name, given.workers)) for name in fabrics]
        for where in deployments:
            # Warm-up: the first job of a process loads modules and kernels.
            all_clients(where, given.dataset, files, queries, 1, Taken())
        for _ in range(given.rounds):
            for count in counts:
                for where in deployments:
                    all_clients(where, given.dataset, files, queries, count, taken[where.fabric, count])
    report(taken, counts, rows_in(files), data.size_mb(files))
    return 0


def report(taken: dict[tuple[str, int], Taken], counts: Sequence[int], rows: int, size_mb: float) -> None:
    """Prints ratios to the time of one client times their number, and to the first fabric with as many clients."""
    base = next(iter(taken))[0]
    lines = [
        f"each client: {size_mb:.0f} MB, {rows:,} rows; median of {len(next(iter(taken.values())).seconds)} rounds",
        "| fabric | clients | time ÷ (clients × time of one) | rows a second | time ÷ "
        + base
        + f" | processor time | ÷ {base} | broker's | s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (fabric, count), each in taken.items():
        one = taken[fabric, counts[0]].median_s / counts[0]
        share = f"{statistics.median(each.broker_share):.0%}" if fabric != "files" else ""
        rounds = " ".join(f"{seconds:.1f}" for seconds in each.seconds)
        processor_s = statistics.median(each.processor_s)
        compared = processor_s / max(statistics.median(taken[base, count].processor_s), 1e-9)
        lines.append(
            f"| {fabric} | {count} | {each.median_s / (one * count):.2f} | {rows * count / each.median_s:,.0f} | "
            f"{each.median_s / taken[base, count].median_s:.2f} | {processor_s:.1f} s | {compared:.2f} | {share} | "
            f"{rounds} |"
        )
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except CauceError as problem:
        sys.exit(f"error [{problem.code}] {problem}")
