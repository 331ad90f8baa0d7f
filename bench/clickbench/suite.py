"""`./cauce bench --suite clickbench`: the 43 queries of ClickBench as one job over a generated table.

DuckDB loads the file once and then runs the queries, or reads the file in every query.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bench import comparison
from bench.clickbench import queries
from bench.clickbench.hits import generated
from bench.commands import Entry, Job
from bench.data import size_mb
from bench.killing import entry as killed_entry
from bench.measure import warm
from bench.options import Options
from bench.report import Section
from bench.tpch.suite import parquet_differences
from cauce.process.starting import module_command

NAME = "ClickBench, CSV"


def sections(options: Options, scratch: Path) -> list[Section]:
    data = generated(options.out / "data", options.scale)
    warm(data)
    job = Job(NAME, data, tuple(f"q{number}" for number in range(1, len(queries()) + 1)), options.workers)
    found = comparison.run(entries(job, options, scratch), job, options.rounds, parquet_differences)
    return [Section(job.dataset, job.queries, size_mb(data), found)]


def entries(job: Job, options: Options, scratch: Path) -> list[Entry]:
    arguments = cauce_arguments(scratch, job, scratch / "cauce")
    made = [Entry("Cauce", tuple(module_command("cauce", *arguments)), scratch / "cauce")]
    if options.kill_every_s is not None:
        under_kills = cauce_arguments(scratch, job, scratch / "killed")
        made.append(killed_entry(under_kills, scratch / "killed", options.kill_every_s))
    if "duckdb" in options.peers:
        made.append(_duckdb("DuckDB, loaded once", job, scratch / "duckdb"))
        made.append(_duckdb("DuckDB, a view of the file", job, scratch / "duckdb-views", "--views"))
    return made


def cauce_arguments(scratch: Path, job: Job, out: Path) -> list[str]:
    text = scratch / "clickbench.sql"
    text.write_text(";\n".join(queries()), encoding="utf-8")
    where = ["-f", str(text), "--data", str(job.data), "--out", str(out)]
    return ["sql", *where, "--format", "parquet", "--workers", str(job.workers)]


def _duckdb(name: str, job: Job, answers: Path, *more: str) -> Entry:
    command = (sys.executable, "-m", "bench.clickbench.in_duckdb", str(job.data), str(answers), str(job.workers), *more)
    return Entry(name, command, answers, "duckdb")
