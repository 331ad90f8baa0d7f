"""Repetition of runs, and the pairs that are compared."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.commands import Entry, Job
from bench.comparison import run


def entry(name: str, folder: Path, content: str, peer: str = "", code: int = 0) -> Entry:
    """An entry that counts its runs, writes an answer and ends with a code."""
    script = (
        f"import sys, pathlib; out = pathlib.Path({str(folder / name)!r}); out.mkdir()\n"
        f"with open({str(folder / (name + '.runs'))!r}, 'a') as runs: runs.write('x')\n"
        f"(out / 'q1.csv').write_text({content!r})\n"
        f"sys.exit({code} and 'out of tea')"
    )
    return Entry(name, (sys.executable, "-c", script), folder / name, peer)


def job(folder: Path) -> Job:
    return Job("books", folder, ("q1",), 1)


def test_a_difference_is_found_with_its_query(tmp_path: Path) -> None:
    ours = entry("Cauce", tmp_path, "a\n1.0\n")
    right = entry("right", tmp_path, "a\n1\n", "duckdb")
    wrong = entry("wrong", tmp_path, "a\n2\n", "polars")
    found = run([ours, right, wrong], job(tmp_path), rounds=1)
    assert [outcome.differences for outcome in found] == [{}, {}, {"q1": "2, not 1.0"}]


def test_cauce_under_kills_must_give_the_same_bytes(tmp_path: Path) -> None:
    found = run([entry("Cauce", tmp_path, "a\n1.0\n"), entry("other", tmp_path, "a\n1\n")], job(tmp_path), rounds=1)
    assert found[1].differences == {"q1.csv": "the bytes differ"}


def test_a_peer_that_fails_is_reported_and_not_run_again(tmp_path: Path) -> None:
    ours, bad = entry("Cauce", tmp_path, "a\n"), entry("bad", tmp_path, "a\n", "dask", code=1)
    found = run([ours, bad], job(tmp_path), rounds=2)
    assert found[1].failure.endswith("out of tea")
    assert (tmp_path / "bad.runs").read_text() == "x"
    assert (tmp_path / "Cauce.runs").read_text() == "xxx"


def test_without_cauce_nothing_is_compared(tmp_path: Path) -> None:
    ours, other = entry("Cauce", tmp_path, "a\n", code=1), entry("other", tmp_path, "a\n", "duckdb")
    (found,) = run([ours, other], job(tmp_path), rounds=1)
    assert found.failure.endswith("out of tea")
    assert not (tmp_path / "other.runs").exists()
