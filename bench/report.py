"""Reports as Markdown and JSON: ratios first, because absolute times are not comparable on a shared machine."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from bench.comparison import Outcome
from bench.measure import Measured, rounds_of
from bench.peers import PEERS
from cauce import __version__

HEAD = (
    "| what | time ÷ Cauce | CPU ÷ Cauce | peak MB | answers | rounds (s) |",
    "|---|---|---|---|---|---|",
)
DUCKDB_HEAD = ("| Cauce ÷ | time | CPU | memory |", "|---|---|---|---|")


@dataclass(frozen=True)
class Ratios:
    """Ratios of two measurements: medians of time, medians of processor time, peaks of memory."""

    time: float
    cpu: float
    memory: float


def ratios(one: Measured, other: Measured) -> Ratios:
    memory = one.peak_mb / other.peak_mb if other.peak_mb else 0.0
    return Ratios(one.median_s / other.median_s, one.median_cpu_s / other.median_cpu_s, memory)


@dataclass(frozen=True)
class Section:
    """The results of one dataset. The first outcome is that of Cauce; if it failed, there are no others."""

    dataset: str
    queries: tuple[str, ...]
    data_mb: float
    outcomes: Sequence[Outcome]

    @property
    def cauce(self) -> Measured:
        return self.outcomes[0].measured

    @property
    def measured(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if not outcome.failure]

    @property
    def problems(self) -> list[str]:
        """Why the comparison failed: answers that differ from Cauce's, a failed run of Cauce, missing kills."""
        found: list[str] = []
        for outcome in self.outcomes:
            name = f"{self.dataset}, {outcome.entry.name}"
            found += [f"{name}: {query} differs: {what}" for query, what in outcome.differences.items()]
            if outcome.failure and not outcome.entry.peer:
                found.append(f"{name}: {outcome.failure}")
            elif outcome.entry.kills is not None and 0 in outcome.kills:
                found.append(f"{name}: ended before a worker was killed; use more data or a shorter --kill-every")
        return found


def markdown(sections: Iterable[Section], workers: int) -> str:
    parts = [f"{machine_line()}; Cauce with {workers} worker{'s' * (workers != 1)}, peers with as many threads."]
    parts += [_section(section) for section in sections]
    return "\n\n".join(parts) + "\n"


def _section(section: Section) -> str:
    lines = [f"## {section.dataset}: {', '.join(section.queries)} over {section.data_mb:,.0f} MB", "", *HEAD]
    lines += [_row(section, outcome) for outcome in section.outcomes]
    duckdb = [outcome for outcome in section.measured if outcome.entry.peer == "duckdb"]
    if duckdb:
        lines += ["", *DUCKDB_HEAD, *(_duckdb_row(section, outcome) for outcome in duckdb)]
    return "\n".join(lines)


def _row(section: Section, outcome: Outcome) -> str:
    if outcome.failure:
        return f"| {shown_name(outcome)} | – | – | – | failed: {_cell(outcome.failure)} | |"
    to_cauce = ratios(outcome.measured, section.cauce)
    peak = f"{outcome.measured.peak_mb:.0f}" if outcome.measured.peak_bytes else "–"
    figures = f"{to_cauce.time:.2f} | {to_cauce.cpu:.2f} | {peak}"
    return f"| {shown_name(outcome)} | {figures} | {_answers(outcome)} | {rounds_of(outcome.measured)} |"


def _duckdb_row(section: Section, outcome: Outcome) -> str:
    found = ratios(section.cauce, outcome.measured)
    return f"| {shown_name(outcome)} | {found.time:.2f} | {found.cpu:.2f} | {found.memory:.2f} |"


def shown_name(outcome: Outcome) -> str:
    """The name of the entry with its number of kills, or with the size of the sample that it was extrapolated from."""
    if outcome.kills:
        return f"{outcome.entry.name} ({'+'.join(map(str, outcome.kills))} kills)"
    if outcome.extrapolated:
        return f"{outcome.entry.name} (extrapolated from {outcome.scored:,} of {outcome.texts:,} texts)"
    return outcome.entry.name


def _answers(outcome: Outcome) -> str:
    if outcome.differences:
        return f"**differ: {', '.join(outcome.differences)}**"
    if not outcome.entry.peer:
        return "the same bytes" if outcome.entry.kills else ""
    return "agree, except q5, which was not compared" if outcome.entry.sampled else "agree"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def as_json(sections: Iterable[Section], workers: int) -> str:
    found = {"machine": machine(), "workers": workers, "datasets": [_json_section(section) for section in sections]}
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _json_section(section: Section) -> dict[str, object]:
    return {
        "dataset": section.dataset,
        "queries": section.queries,
        "data_mb": round(section.data_mb, 1),
        "entries": [_json_entry(section, outcome) for outcome in section.outcomes],
        "problems": section.problems,
    }


def _json_entry(section: Section, outcome: Outcome) -> dict[str, object]:
    found: dict[str, object] = {"name": outcome.entry.name, "peer": outcome.entry.peer}
    if outcome.failure:
        return found | {"failure": outcome.failure}
    found |= measured_json(outcome.measured)
    found["to_cauce"] = vars(ratios(outcome.measured, section.cauce))
    found["cauce_to_it"] = vars(ratios(section.cauce, outcome.measured))
    if outcome.entry.scored is not None:
        found |= {"texts": outcome.texts, "texts_scored": outcome.scored, "extrapolated": outcome.extrapolated}
    if outcome.entry.kills is not None:
        found["kills"] = outcome.kills
    return found | {"differences": outcome.differences}


def measured_json(measured: Measured) -> dict[str, object]:
    return {"wall_s": measured.wall_s, "cpu_s": measured.cpu_s, "peak_mb": round(measured.peak_mb, 1)}


def machine() -> dict[str, object]:
    """The machine and the versions that were compared."""
    versions: Mapping[str, str] = {package: _version(package) for package in PEERS}
    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "python": platform.python_version(),
        "cauce": __version__,
        "versions": {package: known for package, known in versions.items() if known},
    }


def machine_line() -> str:
    facts = machine()
    where = f"{facts['system']} on {facts['processor']}, {facts['cores']} cores, {facts['memory_gb']:.0f} GB"
    return f"{where}, Python {facts['python']}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def draw(sections: Sequence[Section], stem: Path) -> None:
    """One row per dataset: times as ratios to Cauce, and peak memory."""
    from bench.chart import Bar, Panel, bar_chart

    rows = []
    for section in sections:
        if section.outcomes[0].failure:
            continue
        shown = [(outcome, shown_name(outcome)) for outcome in section.measured]
        times = [
            Bar(name, ratios(each.measured, section.cauce).time, not each.entry.peer, each.extrapolated)
            for each, name in shown
        ]
        peaks = [Bar(name, each.measured.peak_mb, not each.entry.peer) for each, name in shown]
        title = f"{section.dataset}: {', '.join(section.queries)} over {section.data_mb:,.0f} MB"
        rows.append((Panel(title, "time ÷ Cauce", times), Panel("", "peak memory, MB", peaks, digits=0)))
    if rows:
        bar_chart(rows, stem)
