"""A job whose files are damaged is listed as damaged, can be cancelled, and does not hide other jobs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cauce.api.jobs import JobRequest
from cauce.fabric.files.fabric import FilesFabric
from cauce.gateway.errors import JobDamaged
from cauce.gateway.jobs.job_service import Jobs
from cauce.gateway.limits import ServiceLimits
from cauce.job.outcome import Outcome
from cauce.job.topology import JOB_LOG
from tests.gateway.serving import JOB, Sent, World, files_world, run_to_end, send
from tests.gateway.serving import OWNER as LOCAL

OWNER = "ann"


def damage_job_log(root: Path, job: str) -> None:
    with closing(FilesFabric(root)) as fabric:
        fabric.append(f"{OWNER}.{job}", JOB_LOG, [Outcome("cancelled").dump(9)])
    (segment,) = (root / "jobs" / f"{OWNER}.{job}" / "logs" / JOB_LOG.encode()).iterdir()
    segment.write_bytes(b"x" * segment.stat().st_size)


def replace_segments_by_folders(root: Path, job: str) -> None:
    with closing(FilesFabric(root)) as fabric:
        fabric.append(f"{OWNER}.{job}", JOB_LOG, [Outcome("cancelled").dump(9)])
    for segment in (root / "jobs" / f"{OWNER}.{job}").glob("logs/*/*"):
        segment.unlink()
        segment.mkdir()


def replace_manifest_by_a_folder(root: Path, job: str) -> None:
    """Reading it is an error of the operating system, also for a superuser."""
    path = root / "jobs" / f"{OWNER}.{job}" / "manifest.json"
    os.unlink(path)
    path.mkdir()


@pytest.fixture
def fabric(tmp_path: Path) -> Iterator[FilesFabric]:
    with closing(FilesFabric(tmp_path)) as fabric:
        yield fabric


@pytest.fixture
def jobs(fabric: FilesFabric) -> Jobs:
    jobs = Jobs(fabric, ServiceLimits(lanes=1))
    for job in ("good", "bad"):
        jobs.create(OWNER, job, JobRequest("coffee", ["q1"], {}))
    return jobs


@pytest.mark.parametrize("damage", [damage_job_log, replace_segments_by_folders, replace_manifest_by_a_folder])
def test_a_damaged_job_does_not_prevent_new_jobs(
    jobs: Jobs, tmp_path: Path, damage: Callable[[Path, str], None]
) -> None:
    """Also when jobs are counted, which starts when there are as many as one owner may have."""
    damage(tmp_path, "bad")
    with closing(FilesFabric(tmp_path)) as fabric:
        gateway = Jobs(fabric, ServiceLimits(lanes=1, jobs_per_owner=2))
        assert gateway.create("bob", "other", JobRequest("coffee", ["q1"], {}))[1]


@pytest.mark.parametrize("damage", [damage_job_log, replace_segments_by_folders, replace_manifest_by_a_folder])
def test_a_damaged_job_is_listed_beside_the_others(
    jobs: Jobs, tmp_path: Path, damage: Callable[[Path, str], None]
) -> None:
    damage(tmp_path, "bad")
    with closing(FilesFabric(tmp_path)) as fabric:
        for gateway in (jobs, Jobs(fabric, ServiceLimits(lanes=1))):
            found = {status.job: status for status in gateway.list(OWNER)}
            assert found["good"].state == "created"
            assert found["bad"].state == "damaged"
            assert "cannot be read" in found["bad"].cause
            assert str(tmp_path) not in found["bad"].cause
            assert gateway.sweep() == []
            gateway.figures()


def test_a_job_with_a_damaged_log_can_be_cancelled(jobs: Jobs, tmp_path: Path) -> None:
    damage_job_log(tmp_path, "bad")
    assert jobs.status(OWNER, "bad").state == "damaged"
    assert jobs.cancel(OWNER, "bad").state == "cancelled"
    assert not (tmp_path / "jobs" / f"{OWNER}.bad").exists()


ANSWER, REPORTS = "home.answer-q4", "home.reports-books"


def overwrite(log: Path) -> None:
    for segment in log.iterdir():
        segment.write_bytes(b"x" * segment.stat().st_size)


def remove(log: Path) -> None:
    for segment in log.iterdir():
        segment.unlink()


@pytest.fixture
def files(tmp_path: Path) -> Iterator[World]:
    made = files_world(tmp_path / "root")
    yield made
    made.close()


def logs_of(world: World) -> Path:
    assert world.root is not None
    return world.root / "jobs" / f"{LOCAL}.{JOB}" / "logs"


@pytest.fixture(params=[(overwrite, ANSWER), (remove, ANSWER), (overwrite, REPORTS), (remove, REPORTS)])
def damaged(request: pytest.FixtureRequest, files: World, sent: Sent) -> Jobs:
    """A gateway that sees a done job for the first time after one of its logs was damaged."""
    damage, log = request.param
    jobs = files.gateway()
    send(jobs, sent)
    assert run_to_end(jobs, files.worker()).state == "done"
    damage(logs_of(files) / log)
    return files.gateway()


def test_a_done_job_with_a_damaged_log_is_damaged(damaged: Jobs) -> None:
    assert damaged.status(LOCAL, JOB).state == "damaged"
    assert [status.state for status in damaged.list(LOCAL)] == ["damaged"]
    assert "damaged" in damaged.why(LOCAL, JOB)
    assert damaged.sweep() == []
    assert damaged.cancel(LOCAL, JOB).state == "cancelled"


def test_nothing_is_served_of_a_damaged_job(damaged: Jobs) -> None:
    for read in (
        lambda: damaged.result(LOCAL, JOB, "q4", None, 10),
        lambda: damaged.answer(LOCAL, JOB, "q4"),
        lambda: damaged.rejects(LOCAL, JOB, None, 10),
        lambda: damaged.rejects_csv(LOCAL, JOB),
        lambda: damaged.graph(LOCAL, JOB),
    ):
        with pytest.raises(JobDamaged, match="cannot be read"):
            read()


def test_requests_append_nothing_to_a_damaged_job(damaged: Jobs, files: World) -> None:
    def sizes() -> dict[str, int]:
        return {str(path): path.stat().st_size for path in logs_of(files).rglob("*") if path.is_file()}

    before = sizes()
    for _ in range(3):
        damaged.status(LOCAL, JOB)
        with pytest.raises(JobDamaged):
            damaged.result(LOCAL, JOB, "q4", None, 10)
    damaged.sweep()
    assert sizes() == before


def test_creating_a_damaged_job_again_shows_the_damage(damaged: Jobs, sent: Sent) -> None:
    status, created = damaged.create(LOCAL, JOB, sent.request)
    assert (status.state, created) == ("damaged", False)
