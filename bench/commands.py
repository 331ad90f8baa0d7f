"""The commands that are measured: Cauce, Cauce under kills, and each peer with each way to score texts."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from bench.peers import PEERS
from bench.peers.task import scoring
from cauce.process.starting import module_command

CAUCE = module_command("cauce", "run")
BOOKS_WITHOUT_TEXTS = "q1,q2,q3,q4"

SAMPLED_BYTES = 10_000_000
"""vaderSentiment scores some hundred texts a second: it gets a sample of files larger than this."""


@dataclass(frozen=True)
class Job:
    """Queries over the files of a dataset."""

    dataset: str
    data: Path
    queries: tuple[str, ...]
    workers: int


@dataclass(frozen=True)
class Entry:
    """A command that answers a job, and the paths of its answers and notes."""

    name: str
    command: tuple[str, ...]
    answers: Path
    peer: str = ""
    kills: Path | None = None
    """A file to which each run appends its number of kills."""
    scored: Path | None = None
    """A folder with statistics of the texts that vaderSentiment scored."""
    sampled: bool = False
    """Whether it scores only a sample: then its time is extrapolated and the answer is not compared."""
    processes: int = 1
    """How many processes share the scoring."""


def cauce(job: Job, scratch: Path) -> Entry:
    answers = scratch / "cauce"
    return Entry("Cauce", (*CAUCE, *_cauce_arguments(job, answers)), answers)


def cauce_killed(job: Job, scratch: Path, every_s: float) -> Entry:
    from bench.killing import entry

    answers = scratch / "cauce-killed"
    return entry(("run", *_cauce_arguments(job, answers)), answers, every_s)


def peers(job: Job, scratch: Path, names: tuple[str, ...], *, library: bool) -> list[Entry]:
    """One entry per peer. If texts are scored: one with Cauce's kernel and, if `library`, one with vaderSentiment."""
    if not scoring(job.dataset, job.queries):
        plain = [_peer(job, scratch / name, name, PEERS[name]) for name in names]
        return plain + [_loaded(job, scratch, name) for name in names if (name, job.dataset) == ("duckdb", "books")]
    entries: list[Entry] = []
    for name in names:
        entries.append(_peer(job, scratch / f"{name}-kernel", name, f"{PEERS[name]} + Cauce's kernel"))
        if library:
            entries.append(with_library(job, scratch, name))
    return entries


def _loaded(job: Job, scratch: Path, name: str) -> Entry:
    """Loads the needed columns of all rows into tables before it runs the queries."""
    plain = _peer(job, scratch / f"{name}-loaded", name, f"{PEERS[name]}, needed columns loaded once")
    return replace(plain, command=(*plain.command, "--loaded"))


def with_library(job: Job, scratch: Path, name: str) -> Entry:
    answers = scratch / f"{name}-library"
    scored, every = scratch / f"{name}-library.scored", library_every(job)
    plain = _peer(job, answers, name, f"{PEERS[name]} + vaderSentiment")
    return Entry(
        plain.name,
        (*plain.command, "--library-every", str(every), "--notes", str(scored)),
        answers,
        name,
        scored=scored,
        sampled=every > 1,
        # The others call Python from threads, which the global interpreter lock serialises.
        processes=job.workers if name == "pyspark" else 1,
    )


def library_every(job: Job) -> int:
    """vaderSentiment scores every n-th text; returns n."""
    name = "Books_rating.csv" if job.dataset == "books" else "movies_metadata.csv"
    path = job.data / name
    return max(1, path.stat().st_size // SAMPLED_BYTES) if path.exists() else 1


def _peer(job: Job, answers: Path, name: str, shown: str) -> Entry:
    where = (name, job.dataset, "--data", str(job.data), "--out", str(answers))
    what = ("--queries", ",".join(job.queries), "--threads", str(job.workers))
    return Entry(shown, (sys.executable, "-m", "bench.peers", *where, *what), answers, name)


def _cauce_arguments(job: Job, answers: Path) -> tuple[str, ...]:
    where = (job.dataset, "--data", str(job.data), "--out", str(answers))
    return (*where, "--queries", ",".join(job.queries), "--workers", str(job.workers))
