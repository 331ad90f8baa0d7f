"""The options of `./cauce bench`, checked before anything is started."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from bench.peers import PEERS
from cauce.datasets import BUILT_IN, load
from cauce.errors import UnknownName, UsageError

SCALE = 0.1
SMALL_SCALE = 0.001
SUITES = {"tpch": ("duckdb", "polars"), "clickbench": ("duckdb",), "reading": ("duckdb", "polars")}
"""The peers of each suite."""
FORMATS = ("csv", "parquet")
INSTALL = "./cauce bench, in a clone, installs all of requirements-bench.lock"


@dataclass(frozen=True)
class Options:
    datasets: tuple[str, ...]
    queries: tuple[str, ...]
    """Empty for all."""
    scale: float
    data: Path | None
    peers: tuple[str, ...]
    library: bool
    rounds: int
    workers: int
    kill_every_s: float | None
    out: Path
    scales: tuple[float, ...]
    worker_counts: tuple[int, ...]
    mode: str
    """`compare`, `scaling`, `small` or the name of a suite."""
    formats: tuple[str, ...]

    def queries_of(self, dataset: str) -> tuple[str, ...]:
        known = tuple(load(dataset).queries)
        unknown = [query for query in self.queries if query not in known]
        if unknown:
            raise UnknownName(f"{dataset} has no query {', '.join(unknown)}; it has {', '.join(known)}")
        return self.queries or known


def parsed(arguments: Sequence[str], description: str) -> Options:
    """Raises UsageError for invalid combinations. The parser itself exits with code 2 for invalid options."""
    given = _parser(description).parse_args(arguments)
    mode = given.mode or "compare"
    options = Options(
        datasets=given.dataset or (BUILT_IN if mode == "compare" else ("books",)),
        queries=given.queries,
        scale=_default_scale(mode) if given.scale is None else given.scale,
        data=given.data,
        peers=_peers(mode, given.peers),
        library=given.sentiment == "both",
        rounds=given.rounds,
        workers=given.workers,
        # A suite of TPC-H has a run under kills unless it is declined.
        kill_every_s=(1.0 if mode == "tpch" else None) if given.kill_every is None else given.kill_every or None,
        # Absolute, because commands run in another folder.
        out=given.out.absolute(),
        scales=given.scales,
        worker_counts=given.worker_counts,
        mode=mode,
        formats=given.formats,
    )
    _check(options)
    return options


def _default_scale(mode: str) -> float:
    return 1.0 if mode in SUITES else {"compare": SCALE, "scaling": SCALE, "small": SMALL_SCALE}[mode]


def _peers(mode: str, given: tuple[str, ...] | None) -> tuple[str, ...]:
    known = {"compare": tuple(PEERS), "small": ("polars",), "scaling": (), **SUITES}[mode]
    if given is None or mode in ("small", "scaling"):
        return known
    unknown = [name for name in given if name not in known]
    if unknown:
        raise UnknownName(f"unknown peer {', '.join(unknown)}; expected one of {', '.join(known)}")
    return given


def _parser(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="cauce bench", description=description)
    add, cores = parser.add_argument, os.cpu_count() or 1
    add("--dataset", type=_names, metavar="A,B", help=f"of {', '.join(BUILT_IN)} (default: all)")
    add("--queries", type=_names, default=(), metavar="q1,q2", help="default: all")
    add("--scale", type=float, help=f"size of generated files; 1 is about 3 GB (default: {SCALE}; 1 in suites)")
    add("--data", type=Path, metavar="DIR", help="use your own files: of one dataset, or in a subfolder for each")
    add("--peers", type=_names, metavar="A,B", help=f"default: {','.join(PEERS)}, or all of the suite")
    add("--sentiment", choices=("kernel", "both"), default="both", help="how peers score texts (default: both)")
    add("--rounds", type=int, default=3, help="number of timed rounds of each command (default: 3)")
    add("--workers", type=int, default=cores, help="workers of Cauce, and threads of peers (default: number of cores)")
    add("--kill-every", type=float, metavar="SECONDS", help="also run Cauce with a worker killed every so many seconds")
    add(
        "--out",
        type=Path,
        default=Path(".cache/bench"),
        help="folder for results and data (default: .cache/bench)",
    )
    add("--formats", type=_names, default=FORMATS, metavar="A,B", help="with --suite tpch (default: csv,parquet)")
    modes = parser.add_mutually_exclusive_group()
    grown, small = (
        "Cauce with several sizes of data and numbers of workers",
        "Cauce compared with Polars on some thousand rows",
    )
    modes.add_argument("--scaling", dest="mode", action="store_const", const="scaling", help=grown)
    modes.add_argument("--small", dest="mode", action="store_const", const="small", help=small)
    suites = "TPC-H or ClickBench as one job, or reading of damaged CSV files"
    modes.add_argument("--suite", dest="mode", choices=tuple(SUITES), help=suites)
    add("--scales", type=_numbers, default=(0.1, 1.0, 4.0), metavar="A,B", help="with --scaling (default: 0.1,1,4)")
    add("--worker-counts", type=_counts, default=(1, 2), metavar="A,B", help="with --scaling (default: 1,2)")
    return parser


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(map(float, _names(text)))


def _counts(text: str) -> tuple[int, ...]:
    return tuple(map(int, _names(text)))


def _check(options: Options) -> None:
    for name in options.datasets:
        if name not in BUILT_IN:
            raise UnknownName(f"unknown dataset {name}; expected one of {', '.join(BUILT_IN)}")
        options.queries_of(name)
    for name in options.formats:
        if name not in FORMATS:
            raise UnknownName(f"unknown format {name}; expected one of {', '.join(FORMATS)}")
    if min(options.rounds, options.workers, *options.worker_counts) < 1:
        raise UsageError("--rounds, --workers and --worker-counts must be 1 or more")
    if min(options.scale, *options.scales) <= 0:
        raise UsageError("--scale and --scales must be above 0")
    if options.kill_every_s is not None and options.kill_every_s <= 0:
        raise UsageError("--kill-every must be above 0")
    if options.data is not None and not options.data.is_dir():
        raise UsageError(f"{options.data} is not a folder; --data must name the folder with the dataset's files")
    if options.out.exists() and not options.out.is_dir():
        raise UsageError(f"{options.out} is a file; --out must name a folder")
    if options.data is not None and options.mode == "scaling":
        raise UsageError("--scaling generates files of several sizes: omit --data")
    if options.data is not None and options.mode in SUITES:
        raise UsageError("--suite generates its files: omit --data")
    # Suites draw no charts.
    _check_installed(["psutil", *options.peers, *(["matplotlib"] if options.mode not in SUITES else [])])


def _check_installed(peers: Sequence[str]) -> None:
    missing = [package for package in peers if find_spec(package) is None]
    if missing:
        raise UsageError(f"not installed: {', '.join(missing)}. {INSTALL}; or select other peers with --peers")
    if "pyspark" in peers and shutil.which("java") is None:
        raise UsageError("pyspark needs Java 17 or newer: install it, or select other peers with --peers")
