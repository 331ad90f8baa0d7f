"""`./cauce bench --suite tpch`: the 22 queries of TPC-H from their SQL text as one job, over CSV and Parquet files.

DuckDB loads each file once and then runs the queries, or reads the files in every query. Polars answers all queries in
one `collect_all`. Cauce also runs while one of its workers is killed every second.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench import comparison
from bench.commands import Entry, Job
from bench.data import size_mb
from bench.killing import entry as killed_entry
from bench.measure import warm
from bench.options import Options
from bench.report import Section
from bench.tpch import queries, script
from bench.tpch.answers import differences
from cauce.process.starting import module_command

NAMES = {"csv": "TPC-H, CSV", "parquet": "TPC-H, Parquet"}


def sections(options: Options, scratch: Path) -> list[Section]:
    """One section for each format of the files."""
    return [_section(options, scratch / form, form) for form in options.formats]


def _section(options: Options, scratch: Path, form: str) -> Section:
    scratch.mkdir()
    data = generated(options.out / "data", options.scale, form)
    warm(data)
    job = Job(NAMES[form], data, tuple(queries()), options.workers)
    found = comparison.run(entries(job, options, scratch), job, options.rounds, parquet_differences)
    return Section(job.dataset, job.queries, size_mb(data), found)


def entries(job: Job, options: Options, scratch: Path) -> list[Entry]:
    arguments = cauce_arguments(scratch, job.data, scratch / "cauce", job.workers)
    made = [Entry("Cauce", tuple(module_command("cauce", *arguments)), scratch / "cauce")]
    if options.kill_every_s is not None:
        under_kills = cauce_arguments(scratch, job.data, scratch / "killed", job.workers)
        made.append(killed_entry(under_kills, scratch / "killed", options.kill_every_s))
    if "duckdb" in options.peers:
        made.append(_peer("duckdb", "DuckDB, loaded once", job, scratch / "duckdb"))
        made.append(_peer("duckdb", "DuckDB, views of the files", job, scratch / "duckdb-views", "--views"))
    if "polars" in options.peers:
        made.append(_peer("polars", "Polars, collect_all", job, scratch / "polars"))
    return made


def _peer(peer: str, name: str, job: Job, answers: Path, *more: str) -> Entry:
    command = (sys.executable, "-m", f"bench.tpch.in_{peer}", str(job.data), str(answers), str(job.workers), *more)
    return Entry(name, command, answers, peer)


def parquet_differences(ours: Entry, theirs: Entry) -> dict[str, str]:
    return dict.fromkeys(differences(ours.answers, theirs.answers), "the rows differ")


def cauce_arguments(scratch: Path, data: Path, out: Path, workers: int) -> list[str]:
    text = scratch / "tpch.sql"
    text.write_text(script(), encoding="utf-8")
    where = ["-f", str(text), "--data", str(data), "--out", str(out)]
    return ["sql", *where, "--format", "parquet", "--workers", str(workers)]


def generated(folder: Path, scale: float, form: str = "csv") -> Path:
    """The files of a scale, generated unless they exist."""
    data = folder / (f"tpch-{scale:g}" if form == "csv" else f"tpch-{scale:g}-{form}")
    if not data.is_dir():
        # Renamed when complete: a cached folder is never partial.
        making = folder / f"{data.name}.{os.getpid()}"
        command = shutil.which("tpchgen-cli", path=str(Path(sys.executable).parent)) or "tpchgen-cli"
        subprocess.run([command, form, "-s", f"{scale:g}", "-o", str(making)], check=True, capture_output=True)
        making.rename(data)
    return data
