"""When two runs have the same job name, so that the second resumes the first; how often a run looks for answers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cauce.datasets import load
from cauce.fabric.memory import MemoryFabric, Store
from cauce.job.topology import Topology
from cauce.runner.local_client import Upload
from cauce.runner.run import (
    LONGEST_PAUSE_S,
    PAUSE_S,
    POLL_SHARE,
    RunSettings,
    job_name,
    pause_s,
    upload_some,
)
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
        name_of(data, settings=RunSettings(workers=2, lanes_a_worker=1)),
    ]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("workers", "lanes"), [(1, 1), (2, 4), (3, 6)])
def test_several_workers_share_more_lanes_than_they_are(workers: int, lanes: int) -> None:
    assert RunSettings(workers).lanes == lanes


def test_the_size_of_parts_depends_on_the_workers_and_not_on_the_lanes(data: Path) -> None:
    prepared = prepare(load("books"), data, ["q1"], {}, 2)
    made: dict[int, list[int]] = {}
    for lanes in (1, 4):
        upload = Upload(
            MemoryFabric(Store()),
            "job",
            Topology(prepared.plan, lanes),
            prepared.files,
            {"books": 1 << 10, "reviews": 1 << 11},
        )
        made[lanes] = [part.end - part.start for table in prepared.plan.tables for part in upload.parts(table)]
    assert made[1] == made[4]


def test_a_run_of_few_queries_looks_for_answers_often() -> None:
    assert pause_s(0.00001) == PAUSE_S


def test_looking_for_the_answers_of_many_queries_takes_a_bounded_share_of_a_core() -> None:
    assert pause_s(0.0005) == pytest.approx(0.0005 / POLL_SHARE)


def test_an_answer_is_found_soon_however_long_a_look_takes() -> None:
    assert pause_s(1.0) == LONGEST_PAUSE_S


class _Records(Upload):
    """Appends as many records as are left, each in a time of its own."""

    def __init__(self, left: int, clock: list[float], each_s: float) -> None:
        self.left, self._clock, self._each_s = left, clock, each_s

    def step(self) -> bool:
        self._clock[0] += self._each_s
        self.left -= 1
        return self.left >= 0


def test_parts_that_are_appended_quickly_are_appended_together() -> None:
    clock = [0.0]
    records = _Records(100, clock, 0.0)
    assert not upload_some(records, lambda: clock[0])
    assert records.left == -1


def test_a_slow_upload_is_interrupted_to_look_for_answers() -> None:
    clock = [0.0]
    records = _Records(100, clock, 0.015)
    assert upload_some(records, lambda: clock[0])
    assert records.left == 98
