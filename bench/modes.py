"""The measurements of `./cauce bench`: each leaves its table and results in `--out`, some of them a chart."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import commands, comparison, data, report, results, scaling, small, tables
from bench.clickbench import suite as clickbench
from bench.options import Options
from bench.reading import suite as reading
from bench.report import Section
from bench.tpch import suite as tpch


def compare(options: Options, scratch: Path) -> list[str]:
    sections = []
    for dataset in options.datasets:
        job = _job(options, dataset)
        beside = scratch / dataset
        beside.mkdir()
        entries = [commands.cauce(job, beside)]
        if options.kill_every_s is not None:
            entries.append(commands.cauce_killed(job, beside, options.kill_every_s))
        entries += commands.peers(job, beside, options.peers, library=options.library)
        outcomes = comparison.run(entries, job, options.rounds)
        sections.append(Section(dataset, job.queries, data.size_mb(job.data), outcomes))
    report.draw(sections, options.out / "bench")
    return _leave_sections(options, "bench", sections)


def in_sections(measure: Callable[[Options, Path], list[Section]]) -> Callable[[Options, Path], list[str]]:
    """The mode of a suite that measures sections."""
    return lambda options, scratch: _leave_sections(options, options.mode, measure(options, scratch))


def read_damaged(options: Options, scratch: Path) -> list[str]:
    found, problems = reading.run(options, scratch)
    section = reading.as_json(found)
    _leave(options.out, "reading", tables.reading({"reading": section}), json.dumps(section, indent=2) + "\n")
    _record(options, [section])
    return problems


def grow(options: Options, scratch: Path) -> list[str]:
    for dataset in options.datasets:
        points = scaling.grid(options.scales, options.worker_counts)
        queries = options.queries_of(dataset)
        found = scaling.run(dataset, queries, points, options.rounds, options.out / "data", scratch / dataset)
        stem = f"scaling-{dataset}"
        _leave(options.out, stem, scaling.markdown(found), scaling.as_json(found))
        scaling.draw(found, options.out / stem)
    return []


def shrink(options: Options, scratch: Path) -> list[str]:
    problems: list[str] = []
    for dataset in options.datasets:
        section = small.measure(_job(options, dataset), options.rounds, scratch / dataset)
        _leave(options.out, f"small-{dataset}", small.markdown(section), report.as_json([section], options.workers))
        problems += section.problems
    return problems


MODES: dict[str, Callable[[Options, Path], list[str]]] = {
    "compare": compare,
    "scaling": grow,
    "small": shrink,
    "tpch": in_sections(tpch.sections),
    "clickbench": in_sections(clickbench.sections),
    "reading": read_damaged,
}
"""Each takes the options and a folder for its own files, and returns what went wrong."""


def _job(options: Options, dataset: str) -> commands.Job:
    if options.data is not None:
        files = data.given(options.data.absolute(), dataset)
    else:
        files = data.generated(options.out / "data", dataset, options.scale)
    return commands.Job(dataset, files, options.queries_of(dataset), options.workers)


def _leave_sections(options: Options, stem: str, sections: list[Section]) -> list[str]:
    """Returns the problems."""
    found = report.as_json(sections, options.workers)
    _leave(options.out, stem, report.markdown(sections, options.workers), found)
    _record(options, [each for each in json.loads(found)["datasets"] if "failure" not in each["entries"][0]])
    return [problem for section in sections for problem in section.problems]


def _record(options: Options, sections: Sequence[results.Result]) -> None:
    facts = {"machine": report.machine(), "workers": options.workers, "rounds": options.rounds}
    results.add(options.out / results.NAME, sections, **facts)


def _leave(out: Path, stem: str, table: str, results: str) -> None:
    (out / f"{stem}.md").write_text(table, encoding="utf-8")
    (out / f"{stem}.json").write_text(results, encoding="utf-8")
    sys.stdout.write(f"{table}\nIn {out}: {stem}.md, {stem}.json\n")
