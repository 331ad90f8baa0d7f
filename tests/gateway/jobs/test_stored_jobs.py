"""Stored jobs whose dataset has changed or is missing, or whose manifest is damaged."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import msgspec
import pytest

from cauce.api.jobs import JobRequest, JobStatus
from cauce.datasets.registry import Registry
from cauce.fabric.records import VERSION, Kind, record
from cauce.gateway.errors import JobDamaged, JobOver, TableComplete, Unavailable
from cauce.gateway.jobs.job_service import Jobs
from cauce.gateway.model import PartBody
from cauce.job.manifest import Manifest, load_manifest
from cauce.job.outcome import Outcome
from cauce.job.topology import JOB_LOG
from cauce.worker.job_table import Host
from cauce.worker.loop import Worker
from tests.gateway.serving import JOB, OWNER, Sent, World, answers, files_world, run_to_end, send

OWN = """
from cauce.plan import INTEGER, TEXT, Column, Dataset, Integer, Relation, Table, Text, agg

things = Table("things", "things.csv", {"name": Text(), "n": Integer()})
dataset = Dataset("%s", (things,))


@dataset.query(name=TEXT, lines=INTEGER)
def q1() -> Relation:
    return things.group_by("name").agg(lines=agg.count()).sort("name")
"""
DATA = PartBody(b"name,n\ntea,1\nmilk,2\nbroken,1,2\ntea,2\n", "csv")
ANSWER = b"name,lines\nmilk,1\ntea,2\n"
EVIL = """
from pathlib import Path
Path({marker!r}).write_text("executed")
"""
NUMBERS = count()


class Own:
    """A service with a dataset of the operator's own, in a file that tests edit. Each has a name of its own, since a
    process keeps the plans that it has made."""

    def __init__(self, world: World, file: Path, name: str) -> None:
        self.world = world
        self.file = file
        self.name = name
        file.write_text(OWN % name)
        self.jobs = self.gateway()

    def gateway(self, *files: Path) -> Jobs:
        return Jobs(self.world.fabric(), self.world.limits, self.world.clock, datasets=Registry(files or [self.file]))

    def worker(self) -> Worker:
        return Worker(self.world.fabric(), host=Host(datasets=Registry([self.file])))

    def send(self) -> None:
        self.jobs.create(OWNER, JOB, JobRequest(self.name))
        self.jobs.uploads.put_part(OWNER, JOB, "things", 0, DATA)
        self.jobs.uploads.complete(OWNER, JOB, "things", 1)

    def finish(self) -> JobStatus:
        self.send()
        return run_to_end(self.jobs, self.worker())


@pytest.fixture
def own(world: World, tmp_path: Path) -> Own:
    return Own(world, tmp_path / "own.py", f"own_{next(NUMBERS)}")


EDITS = {
    "comment": lambda text: "# A remark.\n" + text,
    "code": lambda text: text.replace('sort("name")', 'sort("lines")'),
    "columns": lambda text: text.replace("lines", "rows"),
    "broken": lambda text: "raise RuntimeError('no')",
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_finished_job_stays_done_when_its_dataset_changes(own: Own, edit: str) -> None:
    done = own.finish()
    assert done.state == "done"
    before = answers(own.jobs)
    forget_plans()
    own.file.write_text(EDITS[edit](own.file.read_text()))
    for jobs in (own.jobs, own.gateway(), Jobs(own.world.fabric(), own.world.limits, own.world.clock)):
        assert jobs.status(OWNER, JOB) == done
        assert jobs.list(OWNER) == [done]
        assert answers(jobs) == before == {"q1": ANSWER, "rejects": before["rejects"]}
        assert jobs.result(OWNER, JOB, "q1", None, 5).total == 2
        assert jobs.rejects(OWNER, JOB, None, 5).total == 1
        assert "is done" in jobs.why(OWNER, JOB)
        assert jobs.graph(OWNER, JOB).why == jobs.why(OWNER, JOB)
        with pytest.raises((JobOver, TableComplete)):
            jobs.uploads.put_part(OWNER, JOB, "things", 1, DATA)


def test_a_changed_comment_in_the_dataset_does_not_affect_an_open_job(own: Own) -> None:
    own.send()
    forget_plans()
    own.file.write_text("# A remark.\n" + own.file.read_text())
    other = own.gateway()
    assert run_to_end(other, own.worker()).state == "done"
    assert answers(other)["q1"] == ANSWER


def test_other_code_in_the_dataset_fails_an_open_job_with_the_reason(own: Own) -> None:
    own.send()
    forget_plans()
    own.file.write_text(EDITS["code"](own.file.read_text()))
    other = own.gateway()
    assert (other.status(OWNER, JOB).state, other.status(OWNER, JOB).code) == ("failed", "mismatch")
    status = run_to_end(other, own.worker())
    assert (status.state, status.code) == ("failed", "mismatch")
    assert "has changed since job" in status.cause


def forget_plans() -> None:
    """Simulates a newly started process."""
    from cauce.job import manifest

    manifest._plans.clear()


def test_a_mismatch_is_ignored_if_all_answers_are_complete(own: Own) -> None:
    own.send()
    worker = own.worker()
    while worker.step():
        pass
    own.world.fabric().append(f"{OWNER}.{JOB}", JOB_LOG, [Outcome("failed", "late", "mismatch").dump(99)])
    gateway = own.gateway()
    gateway.sweep()
    assert gateway.status(OWNER, JOB).state == "done"


def test_why_names_the_dataset_that_no_worker_has(own: Own) -> None:
    own.send()
    assert not own.world.worker().step()
    assert own.jobs.status(OWNER, JOB).state == "running"
    why = own.jobs.why(OWNER, JOB)
    assert f"waits for a worker that has dataset {own.name}" in why
    assert "start workers with --dataset FILE" in why
    assert own.jobs.graph(OWNER, JOB).why == why
    assert run_to_end(own.jobs, own.worker()).state == "done"


def test_a_gateway_without_the_dataset_of_an_open_job_rejects_parts_and_does_not_fail_the_job(own: Own) -> None:
    own.jobs.create(OWNER, JOB, JobRequest(own.name))
    other = Jobs(own.world.fabric(), own.world.limits, own.world.clock)
    assert other.status(OWNER, JOB).state == "created"
    with pytest.raises(Unavailable, match=f"no dataset {own.name}: start it with --dataset FILE"):
        other.uploads.put_part(OWNER, JOB, "things", 0, DATA)
    with pytest.raises(Unavailable, match="start it with --dataset FILE"):
        other.uploads.complete(OWNER, JOB, "things", 1)
    other.sweep()
    own.jobs.uploads.put_part(OWNER, JOB, "things", 0, DATA)
    own.jobs.uploads.complete(OWNER, JOB, "things", 1)
    assert "start it with --dataset FILE" in other.why(OWNER, JOB)
    assert run_to_end(other, own.worker()).state == "done"


def test_no_file_is_executed_because_a_manifest_names_it(
    world: World, sent: Sent, wanted: dict[str, bytes], tmp_path: Path
) -> None:
    marker = tmp_path / "marker"
    evil = tmp_path / "evil.py"
    evil.write_text(EVIL.format(marker=str(marker)))
    fabric = world.fabric()
    for number, dataset in enumerate((str(evil), "evil.py", "../evil.py", "evil")):
        name = f"{OWNER}.evil-{number}"
        fabric.create_job(name, Manifest(name, dataset, ("q1",), {}, 2, 1, "", owner=OWNER, created=1.8e9).dump())
    jobs = world.gateway()
    send(jobs, sent)
    assert run_to_end(jobs, world.worker()).state == "done"
    assert answers(jobs) == wanted
    assert len(jobs.list(OWNER)) == 5
    jobs.graph(OWNER, "evil-0")
    jobs.sweep()
    assert not marker.exists()


DAMAGES = {
    "empty": lambda data: b"",
    "zeros": lambda data: bytes(len(data)),
    "truncated": lambda data: data[: len(data) // 2],
    "newer": lambda data: msgspec.json.encode({**msgspec.json.decode(data), "version": 99}),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_manifest_is_reported_and_can_be_removed(world: World, sent: Sent, damage: str) -> None:
    jobs = world.gateway()
    send(jobs, sent, "whole")
    data = load_manifest(world.fabric().manifest(f"{OWNER}.whole") or b"").dump()
    world.fabric().create_job(f"{OWNER}.{JOB}", DAMAGES[damage](data))
    assert run_to_end(jobs, world.worker(), "whole").state == "done"
    status = jobs.status(OWNER, JOB)
    assert status.state == "damaged"
    expected = "written by a newer version of Cauce" if damage == "newer" else "is damaged"
    assert f"the stored manifest of job {JOB}" in status.cause
    assert expected in status.cause
    assert {each.job: each.state for each in jobs.list(OWNER)} == {"whole": "done", JOB: "damaged"}
    assert expected in jobs.why(OWNER, JOB)
    for ask in (
        lambda: jobs.result(OWNER, JOB, "q1", None, 5),
        lambda: jobs.rejects(OWNER, JOB, None, 5),
        lambda: jobs.uploads.put_part(OWNER, JOB, "books", 0, DATA),
    ):
        with pytest.raises(JobDamaged, match=expected):
            ask()
    world.clock.now += 10 * 86_400
    assert f"{OWNER}.{JOB}" not in jobs.sweep()
    assert jobs.status(OWNER, JOB).state == "damaged"
    assert jobs.cancel(OWNER, JOB).state == "cancelled"
    assert not any(JOB in each for each in world.left())


def test_a_log_of_a_newer_version_is_reported_and_does_not_fail_the_job(
    tmp_path: Path, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = files_world(tmp_path / "root")
    jobs = world.gateway()
    send(jobs, sent)
    send(jobs, sent, "other")
    with monkeypatch.context() as newer:
        newer.setattr("cauce.fabric.records.VERSION", VERSION + 1)
        world.fabric().append(f"{OWNER}.{JOB}", JOB_LOG, [record(Kind.STATE, 1, 0, b"{}")])
    assert run_to_end(jobs, world.worker(), "other").state == "done"
    status = jobs.status(OWNER, JOB)
    assert (status.state, status.code) == ("damaged", "version")
    assert "was written by a newer version of Cauce" in status.cause
    jobs.sweep()
    assert jobs.cancel(OWNER, JOB).state == "cancelled"
    world.close()
