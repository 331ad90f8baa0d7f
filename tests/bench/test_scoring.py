"""Scores for peers: kernel and library agree, and a sample stands for all."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from bench.commands import Entry
from bench.comparison import Outcome, _extrapolate
from bench.measure import Measured
from bench.peers.scoring import Library, kernel

TEXTS = pl.Series("text", ["A great book!", None, "", "Not good, but VERY sad :(", "Plain."])


def test_kernel_and_library_agree(tmp_path: Path) -> None:
    assert kernel(TEXTS).to_list() == Library(1, tmp_path)(TEXTS).to_list()


def test_a_sample_notes_what_it_had_and_what_it_scored(tmp_path: Path) -> None:
    Library(4, tmp_path)(TEXTS)
    (notes,) = (json.loads(path.read_text()) for path in tmp_path.iterdir())
    assert notes["texts"] == 4
    assert notes["scored"] == 1


@pytest.mark.parametrize(("processes", "wall_s"), [(1, 1.0 + 0.5 * 90), (2, 1.0 + 0.5 * 45)])
def test_the_time_of_omitted_texts_is_extrapolated_from_the_sample(
    processes: int, wall_s: float, tmp_path: Path
) -> None:
    for number in range(2):
        (tmp_path / str(number)).write_text('{"texts": 50, "scored": 5, "cpu_s": 2.5}\n')
    entry = Entry("x", ("true",), tmp_path, "duckdb", scored=tmp_path, sampled=True, processes=processes)
    outcome = Outcome(entry, Measured([1.0], [2.0]))
    _extrapolate(outcome)
    assert (outcome.scored, outcome.texts) == (10, 100)
    assert outcome.measured.wall_s == [wall_s]
    assert outcome.measured.cpu_s == [2.0 + 0.5 * 90]
