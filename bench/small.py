"""The overhead of Cauce on some thousand rows, compared with a Polars script, including process start."""

from __future__ import annotations

from pathlib import Path

from bench.commands import Job, cauce, peers
from bench.comparison import run
from bench.data import size_mb
from bench.measure import rounds_of
from bench.report import Section, machine_line, shown_name


def measure(job: Job, rounds: int, scratch: Path) -> Section:
    entries = [cauce(job, scratch), *peers(job, scratch, ("polars",), library=True)]
    return Section(job.dataset, job.queries, size_mb(job.data), run(entries, job, rounds))


def markdown(section: Section) -> str:
    lines = [
        f"{machine_line()}.",
        "",
        f"## {section.dataset}: {', '.join(section.queries)} over {section.data_mb:.1f} MB, start to end",
        "",
        "| what | Cauce takes longer by (s) | Cauce ÷ it | rounds (s) |",
        "|---|---|---|---|",
    ]
    for outcome in section.measured:
        if outcome.entry.peer:
            longer_s = section.cauce.median_s - outcome.measured.median_s
            ratio = section.cauce.median_s / outcome.measured.median_s
            lines.append(f"| {shown_name(outcome)} | {longer_s:+.2f} | {ratio:.2f} | {rounds_of(outcome.measured)} |")
        else:
            lines.append(f"| {outcome.entry.name} | | | {rounds_of(outcome.measured)} |")
    lines += [f"| {bad.entry.name} | | | failed: {bad.failure} |" for bad in section.outcomes if bad.failure]
    return "\n".join(lines) + "\n"
