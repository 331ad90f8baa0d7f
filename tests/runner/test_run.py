"""When two runs have the same job name, so that the second resumes the first."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cauce.datasets import load
from cauce.runner.run import RunSettings, job_name
from cauce.runner.sinks import prepare
from tests.cli.running import small_books

USUAL = RunSettings(workers=2)


def name_of(folder: Path, queries: list[str] | None = None, settings: RunSettings = USUAL, partitions: int = 2) -> str:
    return job_name(prepare(load("books"), folder, queries or ["q1"], {}, partitions), settings)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    small_books(tmp_path / "data")
    return tmp_path / "data"


def test_the_same_queries_on_the_same_files_are_the_same_run(data: Path) -> None:
    assert name_of(data) == name_of(data)


def test_an_input_file_that_has_grown_makes_another_run(data: Path) -> None:
    before = name_of(data)
    with (data / "books_data.csv").open("a") as file:
        file.write("\n")
    assert name_of(data) != before


def test_an_input_file_rewritten_makes_another_run_even_if_its_size_is_the_same(data: Path) -> None:
    before = name_of(data)
    os.utime(data / "books_data.csv", (0, 0))
    assert name_of(data) != before


def test_other_queries_workers_partitions_or_parts_make_another_run(data: Path) -> None:
    names = [
        name_of(data),
        name_of(data, ["q2"]),
        name_of(data, settings=RunSettings(workers=3)),
        name_of(data, partitions=3),
        name_of(data, settings=RunSettings(workers=2, part_bytes=1000)),
    ]
    assert len(set(names)) == len(names)
