"""Stored logs of an earlier build: the current code must read them, or reject them with a clear error."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cauce.api.formats import FORMATS
from cauce.datasets.registry import Registry
from cauce.gateway.http.downloads import answer_chunks
from cauce.gateway.jobs.job_end import NEEDED_PROGRAM_S
from cauce.gateway.jobs.job_service import Jobs
from cauce.worker.loop import Worker
from tests.gateway.serving import OWNER, World, answers, files_world
from tests.golden.make import ARCHIVES, DATASET, FINISHED, OPEN
from tests.oracle.api import answer

REASONS = ("no worker of that version", "or start a new job")
"""The second is that of a build with the same version number and another planner."""


@pytest.fixture(params=ARCHIVES, ids=lambda path: path.name)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


@pytest.fixture
def world(folder: Path) -> Iterator[World]:
    made = files_world(folder / "root")
    yield made
    made.close()


@pytest.fixture
def without_datasets(world: World) -> Jobs:
    """A gateway that cannot build any plan."""
    return Jobs(world.fabric(), world.limits, world.clock, datasets=Registry(built_in=()))


def test_answers_of_a_completed_job_are_served_without_its_dataset(without_datasets: Jobs, folder: Path) -> None:
    assert without_datasets.status(OWNER, FINISHED).state == "done"
    assert answers(without_datasets, FINISHED) == answer(DATASET, folder / "data")


@pytest.mark.parametrize("form", FORMATS)
def test_completed_job_is_served_in_every_format(without_datasets: Jobs, world: World, form: str) -> None:
    queries = world.gateway().status(OWNER, FINISHED).queries
    for query in queries:
        served = b"".join(answer_chunks(without_datasets.answer(OWNER, FINISHED, query), form))  # type: ignore[arg-type]
        assert served


def test_open_job_completes_or_fails_without_a_worker_of_its_version(world: World, folder: Path) -> None:
    """A plan is bound to the versions of Cauce, of Polars and of the dataset: with others the job must fail, with the
    reason, and never have another answer."""
    jobs, worker = world.gateway(), Worker(world.fabric())
    while worker.step():
        pass
    jobs.sweep()
    world.clock.now += NEEDED_PROGRAM_S + 1
    jobs.sweep()
    status = jobs.status(OWNER, OPEN)
    if status.state == "failed":
        assert status.code == "mismatch"
        assert any(reason in status.cause for reason in REASONS)
    else:
        assert answers(jobs, OPEN) == answer(DATASET, folder / "data")


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name)
def test_the_archive_is_small(archive: Path) -> None:
    assert archive.stat().st_size < 300_000
