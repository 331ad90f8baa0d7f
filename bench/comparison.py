"""Compares Cauce with its peers on one dataset: runs all in turn, and compares every answer with Cauce's."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bench.answer_diff import difference
from bench.commands import Entry, Job
from bench.measure import CommandFailed, Measured, timed, watched
from cauce.lab.chaos.run import same_answers

REASON_CHARACTERS = 300


@dataclass
class Outcome:
    """Measurements of an entry, or why it failed."""

    entry: Entry
    measured: Measured = field(default_factory=Measured)
    failure: str = ""
    """Why it could not be measured; empty if it could."""
    differences: dict[str, str] = field(default_factory=dict)
    """By query: the first difference from Cauce's answer."""
    kills: list[int] = field(default_factory=list)
    texts: int = 0
    scored: int = 0

    @property
    def extrapolated(self) -> bool:
        return self.scored < self.texts


def run(
    entries: Sequence[Entry], job: Job, rounds: int, compare: Callable[[Entry, Entry], dict[str, str]] | None = None
) -> list[Outcome]:
    """The first entry is Cauce; if it fails, only its outcome is returned. A failed entry is not run again.

    `compare` returns the first difference by query of Cauce's answers and those of a peer, by default of CSV files."""
    compare = compare or (lambda ours, theirs: _csv_differences(ours, theirs, job.queries))
    outcomes = [Outcome(entry) for entry in entries]
    turns = [("memory of {}", _watch), *((f"round {n} of {rounds}: {{}}", _time) for n in range(1, rounds + 1))]
    for progress, measure in turns:
        for outcome in outcomes:
            if not outcome.failure:
                log(f"{job.dataset}: {progress.format(outcome.entry.name)}")
                _attempt(outcome, measure)
            if outcomes[0].failure:
                return outcomes[:1]
    log(f"{job.dataset}: comparing answers")
    for outcome in outcomes:
        if not outcome.failure:
            outcome.differences = _differences(outcomes[0].entry, outcome.entry, compare)
    return outcomes


def _attempt(outcome: Outcome, measure: Callable[[Outcome], None]) -> None:
    shutil.rmtree(outcome.entry.answers, ignore_errors=True)
    try:
        measure(outcome)
    except CommandFailed as problem:
        outcome.failure = reason(problem)


def reason(problem: CommandFailed) -> str:
    """The last two lines of an error output, which name the cause, as one line."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return " ".join(lines[-2:])[-REASON_CHARACTERS:]


def _watch(outcome: Outcome) -> None:
    # Kills would come before workers have reached their peak, and sampling memory slows the run down.
    if outcome.entry.kills is not None:
        return
    watched(outcome.entry.command, outcome.measured)


def _time(outcome: Outcome) -> None:
    entry = outcome.entry
    for notes in (entry.scored, entry.kills):
        if notes is not None:
            shutil.rmtree(notes) if notes.is_dir() else notes.unlink(missing_ok=True)
    timed(entry.command, outcome.measured)
    if entry.scored is not None:
        _extrapolate(outcome)
    if entry.kills is not None:
        outcome.kills.append(sum(map(int, entry.kills.read_text().split())))


def _extrapolate(outcome: Outcome) -> None:
    """Adds the estimated time of the texts that were not scored: the mean of the sample for each."""
    assert outcome.entry.scored is not None
    paths = outcome.entry.scored.glob("*")
    notes = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    outcome.texts = sum(note["texts"] for note in notes)
    outcome.scored = sum(note["scored"] for note in notes)
    if outcome.extrapolated and outcome.scored:
        left_out = outcome.texts - outcome.scored
        cpu_s = sum(note["cpu_s"] for note in notes) / outcome.scored * left_out
        outcome.measured.cpu_s[-1] += cpu_s
        outcome.measured.wall_s[-1] += cpu_s / outcome.entry.processes


def _differences(ours: Entry, entry: Entry, compare: Callable[[Entry, Entry], dict[str, str]]) -> dict[str, str]:
    if not entry.peer:
        return dict.fromkeys(same_answers(ours.answers, entry.answers), "the bytes differ")
    return compare(ours, entry)


def _csv_differences(ours: Entry, entry: Entry, queries: Sequence[str]) -> dict[str, str]:
    compared = [query for query in queries if query != "q5" or not entry.sampled]
    found = {query: difference(ours.answers / f"{query}.csv", entry.answers / f"{query}.csv") for query in compared}
    return {query: what for query, what in found.items() if what}


def log(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
