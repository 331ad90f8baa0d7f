"""One stage of a job, task by task."""

from __future__ import annotations

import pytest

from cauce.fabric.names import job_name
from cauce.gateway.errors import BadRequest
from cauce.gateway.jobs.job_service import Jobs
from cauce.job.outcome import Outcome
from cauce.job.topology import JOB_LOG
from cauce.worker.stats import StatsRecord, TaskNumbers
from tests.gateway.jobs.progress.test_plan_graph import finished, publish
from tests.gateway.serving import JOB, OWNER, Sent, World, send


def open_job(world: World, sent: Sent) -> Jobs:
    jobs = world.gateway()
    send(jobs, sent)
    return jobs


def report(world: World, tasks: dict[int, TaskNumbers], seq: int = 1) -> None:
    publish(world, job_name(OWNER, JOB), StatsRecord("one", world.clock.now + seq, tasks), seq)


def test_the_tasks_of_all_stages_add_up_to_the_plan(world: World, sent: Sent) -> None:
    jobs = finished(world, sent)
    graph = jobs.graph(OWNER, JOB)
    for stage in graph.stages:
        detail = jobs.details.stage(OWNER, JOB, stage.number)
        assert len(detail.tasks) == stage.tasks
        assert sum(task.rows for task in detail.tasks) == stage.rows
        assert sum(task.bytes for task in detail.tasks) == stage.bytes
        assert {task.state for task in detail.tasks} <= {"finished"}
        sent_rows = {edge.id.partition("-")[0]: edge.rows for edge in graph.edges if edge.from_stage == stage.number}
        assert sum(task.rows_out for task in detail.tasks) == sum(sent_rows.values())


def test_the_unit_and_the_computation_are_named(world: World, sent: Sent) -> None:
    jobs = open_job(world, sent)
    units = {stage.kind: jobs.details.stage(OWNER, JOB, stage.number) for stage in jobs.graph(OWNER, JOB).stages}
    assert units["scan"].unit == "lane"
    assert units["fold"].unit == "partition"
    assert all(detail.steps for detail in units.values())


def test_a_task_that_was_busy_for_much_longer_is_slow(world: World, sent: Sent) -> None:
    jobs = open_job(world, sent)
    report(world, {0: TaskNumbers(busy_s=0.4), 1: TaskNumbers(busy_s=4.0)})
    detail = jobs.details.stage(OWNER, JOB, 0)
    assert (detail.slow, detail.median_busy_s) == (1, pytest.approx(2.2))


def test_tasks_of_similar_length_are_not_slow(world: World, sent: Sent) -> None:
    jobs = open_job(world, sent)
    report(world, {0: TaskNumbers(busy_s=3.0), 1: TaskNumbers(busy_s=4.0)})
    assert jobs.details.stage(OWNER, JOB, 0).slow is None


def test_the_peak_of_memory_outlives_the_task(world: World, sent: Sent) -> None:
    jobs = open_job(world, sent)
    report(world, {0: TaskNumbers(busy_s=1.0, held_bytes=5_000)}, 1)
    report(world, {0: TaskNumbers(busy_s=2.0, held_bytes=700)}, 2)
    report(world, {0: TaskNumbers(busy_s=3.0, finished=True)}, 3)
    task = jobs.details.stage(OWNER, JOB, 0).tasks[0]
    assert (task.held_bytes, task.peak_bytes, task.state) == (0, 5_000, "finished")


def test_the_task_that_failed_is_named(world: World, sent: Sent) -> None:
    jobs = open_job(world, sent)
    ending = Outcome("failed", "the cause", "job-failed")
    world.fabric().append(job_name(OWNER, JOB), JOB_LOG, [ending.dump(1)])
    jobs.sweep()
    assert [task.state for task in jobs.details.stage(OWNER, JOB, 0).tasks] == ["stopped", "failed"]


def test_an_unknown_stage_is_refused(world: World, sent: Sent) -> None:
    with pytest.raises(BadRequest, match="has no stage 999"):
        open_job(world, sent).details.stage(OWNER, JOB, 999)
