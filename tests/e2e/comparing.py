"""Runs a dataset over a folder into files and compares them, byte for byte, with the oracle's answers."""

from __future__ import annotations

import difflib
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from cauce.api.formats import Format
from cauce.datasets import load
from cauce.runner.in_process import LocalRun, Settings
from cauce.runner.sinks import Folder, Prepared, Silent, prepare
from cauce.scan.parts import PART_BYTES, Part
from tests.oracle.api import answer

DIFF_LINES = 40
SMALL_PARTS = 24
"""About how many parts the largest file of a folder has in a `small` run."""

Reorder = Callable[[Iterator[Part]], Iterable[Part]]


@dataclass(frozen=True)
class Way:
    """How the same work is split. No split may change a byte of the answers."""

    part_bytes: int = PART_BYTES
    partitions: int = 2
    threads: int = 2
    reorder: Reorder | None = None


WHOLE = Way()


def small(data: Path) -> Way:
    """Parts of a few records, so that groups, ties and malformed records span part boundaries."""
    largest = max(path.stat().st_size for path in data.rglob("*") if path.is_file())
    return Way(part_bytes=max(64, largest // SMALL_PARTS), partitions=3)


def run(
    dataset: str,
    data: Path,
    queries: Collection[str] | None = None,
    *,
    sentiment: str = "vader",
    way: Way = WHOLE,
    form: Format = "csv",
) -> dict[str, bytes]:
    """The bytes of every file that a run writes, by name without suffix."""
    chosen = load(dataset)
    parameters = {parameter.name: sentiment for parameter in chosen.parameters}
    prepared = prepare(chosen, data, queries, parameters, way.partitions)
    with tempfile.TemporaryDirectory() as folder:
        _write(prepared, Path(folder), form, way)
        return {path.name.partition(".")[0]: path.read_bytes() for path in Path(folder).iterdir()}


def _write(prepared: Prepared, out: Path, form: Format, way: Way) -> None:
    settings = Settings(way.threads, way.part_bytes)
    sink = Folder(prepared.plan, out, form)
    LocalRun(prepared.plan, prepared.files, sink, Silent(), settings, way.reorder or iter).run()
    sink.finish()


def compare(
    dataset: str,
    data: Path,
    queries: Collection[str] | None = None,
    *,
    sentiment: str = "vader",
    ways: Iterable[Way] | None = None,
) -> dict[str, bytes]:
    """Fails unless the answers and rejects equal the oracle's with whole files and with small parts; returns them."""
    expected = answer(dataset, data, queries, sentiment)
    for way in (WHOLE, small(data)) if ways is None else ways:
        assert_same(run(dataset, data, queries, sentiment=sentiment, way=way), expected, f"{dataset}, {way}")
    return expected


def assert_same(found: Mapping[str, bytes], expected: Mapping[str, bytes], about: str = "") -> None:
    __tracebackhide__ = True
    problems = [f"{name}.csv was not expected" for name in sorted(found.keys() - expected.keys())]
    problems += [f"{name}.csv is missing" for name in sorted(expected.keys() - found.keys())]
    for name in sorted({*found} | {*expected}):
        problems += _diff(name, found.get(name, b""), expected.get(name, b""))
    if problems:
        pytest.fail("\n".join([about, *problems]), pytrace=False)


def _diff(name: str, found: bytes, expected: bytes) -> list[str]:
    """Lines that differ, with non-printable characters escaped."""
    if found == expected:
        return []
    left, right = ([repr(line)[2:-1] for line in text.splitlines(keepends=True)] for text in (expected, found))
    diff = list(difflib.unified_diff(left, right, f"expected/{name}.csv", f"found/{name}.csv", lineterm="", n=1))
    more = len(diff) - DIFF_LINES
    return diff[:DIFF_LINES] + ([f"… {more} more lines of difference"] if more > 0 else [])
