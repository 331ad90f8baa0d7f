"""The plan graph of a job before, during and after its run, and the sentence that explains it."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from cauce.fabric.names import job_name
from cauce.fabric.records import Kind, record
from cauce.gateway.errors import JobOver
from cauce.gateway.jobs.job_service import Jobs
from cauce.gateway.jobs.progress.plan_graph import GraphBody
from cauce.gateway.jobs.progress.timeline import finish_times
from cauce.job.outcome import Outcome
from cauce.job.topology import JOB_LOG
from cauce.worker.loop import Worker
from cauce.worker.stats import STATS_LOG, Clocks, Stats, StatsRecord, TaskNumbers
from tests.gateway.serving import JOB, OWNER, Sent, World, run_to_end, send


class Ticking:
    """The world's clock, which advances a little each time a worker reads it."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __call__(self) -> float:
        self._world.clock.now += 0.02
        return self._world.clock.now


def reporting_worker(world: World) -> Worker:
    fabric = world.fabric()
    ticking = Ticking(world)
    return Worker(fabric, stats=Stats(fabric, Clocks(ticking, ticking)))


def finished(world: World, sent: Sent) -> Jobs:
    jobs, worker = world.gateway(), reporting_worker(world)
    send(jobs, sent)
    run_to_end(jobs, worker)
    for _ in range(20):
        worker.step()
    return jobs


def backlog(graph: GraphBody) -> int:
    return sum(edge.backlog for edge in graph.edges)


def test_all_stages_are_idle_before_the_upload(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    jobs.create(OWNER, JOB, sent.request)
    graph = jobs.graph(OWNER, JOB)
    assert graph.live
    assert all((stage.busy, stage.waiting, stage.idle) == (0.0, 0.0, 1.0) for stage in graph.stages)
    assert backlog(graph) == 0
    assert [each.what for each in graph.events] == ["created"]


def test_unread_parts_are_the_backlog_of_their_scan(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    send(jobs, sent)
    graph = jobs.graph(OWNER, JOB)
    waiting = {edge.from_table: (edge.unit, edge.backlog) for edge in graph.edges if edge.from_table is not None}
    assert waiting == {table: ("part", len(parts)) for table, parts in sent.tables.items()}
    assert sum(edge.backlog_bytes for edge in graph.edges) == sum(len(body.data) for _, _, body in sent.each())


def test_a_done_job_has_finished_stages_and_no_backlog(world: World, sent: Sent) -> None:
    graph = finished(world, sent).graph(OWNER, JOB)
    assert not graph.live
    assert all(stage.finished == stage.tasks for stage in graph.stages)
    assert backlog(graph) == 0
    rows = sum(status.rows for status in finished_tables(world).values())
    assert sum(stage.rows for stage in graph.stages if stage.kind == "scan") >= rows > 0
    for stage in graph.stages:
        assert stage.busy + stage.waiting + stage.idle == pytest.approx(1.0, abs=1e-3)
        assert stage.tasks == 0 or stage.busy > 0


def test_memory_of_tasks_and_temporary_files_are_summed_up_by_stage(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    send(jobs, sent)
    numbers = {task: TaskNumbers(held_bytes=1_000 + task, spilled_bytes=10) for task in range(1, 4)}
    name = job_name(OWNER, JOB)
    publish(world, name, StatsRecord("one", world.clock.now, numbers))
    stages = jobs.graph(OWNER, JOB).stages
    assert sum(stage.held_bytes for stage in stages) == 3_006
    assert sum(stage.spilled_bytes for stage in stages) == 30
    assert (jobs.figures().task_memory_bytes, jobs.figures().spilled_bytes) == (3_006, 30)
    finished_later = StatsRecord("one", world.clock.now + 1, {1: msgspec.structs.replace(numbers[1], finished=True)})
    publish(world, name, finished_later, seq=2)
    assert sum(stage.held_bytes for stage in jobs.graph(OWNER, JOB).stages) == 2_005


def publish(world: World, name: str, stats: StatsRecord, seq: int = 1) -> None:
    world.fabric().append(name, STATS_LOG, [record(Kind.DATA, 1, seq, msgspec.msgpack.encode(stats))])


def test_a_done_job_has_no_backlog_even_without_statistics(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    send(jobs, sent)
    run_to_end(jobs, Worker(world.fabric()))
    graph = jobs.graph(OWNER, JOB)
    assert backlog(graph) == 0
    assert all(stage.finished == stage.tasks for stage in graph.stages)
    assert not any(stage.failed for stage in graph.stages)


def test_the_stage_of_the_task_that_failed_is_marked(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    send(jobs, sent)
    topology = jobs._views.open(OWNER, JOB).topology
    task = topology.tasks[-1]
    ending = Outcome("failed", "the cause", "job-failed")
    world.fabric().append(job_name(OWNER, JOB), JOB_LOG, [ending.dump(task.number)])
    jobs.sweep()
    graph = jobs.graph(OWNER, JOB)
    assert [stage.number for stage in graph.stages if stage.failed] == [topology.plan.stages.index(task.stage)]
    assert backlog(graph) == 0


def finished_tables(world: World) -> dict[str, object]:
    return dict(world.gateway().status(OWNER, JOB).tables)  # type: ignore[arg-type]


def test_the_timeline_is_ordered_and_closes_with_the_end_of_the_job(world: World, sent: Sent) -> None:
    graph = finished(world, sent).graph(OWNER, JOB)
    kinds = [each.what for each in graph.events]
    moments = [each.at for each in graph.events]
    assert moments == sorted(moments)
    assert kinds[0] == "created"
    assert kinds.count("completed") == len(sent.tables)
    assert kinds[-1] == "done"
    assert kinds.count("finished") == sum(stage.tasks > 0 for stage in graph.stages)
    assert graph.history.start <= moments[0]
    assert graph.history.end >= moments[-1]


def test_a_stage_that_is_reported_late_finished_before_those_that_read_its_output(world: World, sent: Sent) -> None:
    jobs = finished(world, sent)
    edges = [edge for edge in jobs.graph(OWNER, JOB).edges if edge.from_stage is not None and edge.keys]
    view = jobs._views.open(OWNER, JOB)
    assert view.outcome is not None
    for task, known in view.history.progress.items():
        view.history.progress[task] = replace(known, at=view.outcome.at - task)
    at = {stage.name: time for stage, time in finish_times(view)}
    names = [stage.name for stage in view.topology.plan.stages]
    pairs = [(names[edge.from_stage], names[edge.to_stage]) for edge in edges if edge.from_stage is not None]
    # Stages of one name cannot be told apart, and an answer without tasks is not reported.
    compared = [pair for pair in pairs if all(names.count(name) == 1 and name in at for name in pair)]
    assert compared
    assert all(at[first] <= at[then] for first, then in compared)


def test_history_has_a_row_for_each_stage_and_is_kept_with_the_job(world: World, sent: Sent) -> None:
    finished(world, sent)
    world.clock.now += 100
    # Another gateway, which reads the job for the first time, after it was trimmed.
    later = world.gateway()
    later.sweep()
    graph = later.graph(OWNER, JOB)
    assert len(graph.history.busy) == len(graph.stages)
    assert max(max(row, default=0.0) for row in graph.history.busy) > 0
    assert STATS_LOG in later._views.open(OWNER, JOB).kept_logs()


def test_the_sentence_is_the_one_of_why(world: World, sent: Sent) -> None:
    jobs, worker = world.gateway(), reporting_worker(world)
    assert_agrees(jobs, sent, create=True)
    send(jobs, sent)
    assert_agrees(jobs, sent)
    assert "waits for" in jobs.why(OWNER, JOB)
    for _ in range(400):
        worker.step()
    assert_agrees(jobs, sent)
    run_to_end(jobs, worker)
    assert_agrees(jobs, sent)
    assert "is done" in jobs.why(OWNER, JOB)


def assert_agrees(jobs: Jobs, sent: Sent, *, create: bool = False) -> None:
    if create:
        jobs.create(OWNER, JOB, sent.request)
    assert jobs.graph(OWNER, JOB).why == jobs.why(OWNER, JOB)


def test_the_sentence_names_the_busiest_stage_and_its_backlog(lone: World, sent: Sent) -> None:
    jobs, worker = lone.gateway(), reporting_worker(lone)
    send(jobs, sent)
    for _ in range(2_000):
        worker.step()
        why = jobs.why(OWNER, JOB)
        if "is the bottleneck" in why:
            break
    else:
        pytest.fail(f"no stage was ever busy: {why}")
    graph = jobs.graph(OWNER, JOB)
    busiest = max((stage for stage in graph.stages if stage.finished < stage.tasks), key=lambda stage: stage.busy)
    assert f"{busiest.name} is the bottleneck, busy" in graph.why
    assert "\n" not in graph.why


def test_a_deleted_job_has_no_graph(world: World, sent: Sent) -> None:
    jobs = finished(world, sent)
    jobs.cancel(OWNER, JOB)
    with pytest.raises(JobOver):
        jobs.graph(OWNER, JOB)


def test_edges_connect_existing_tables_and_stages(lone: World, sent: Sent) -> None:
    graph = finished(lone, sent).graph(OWNER, JOB)
    assert len({edge.id for edge in graph.edges}) == len(graph.edges)
    for edge in graph.edges:
        assert (edge.from_stage is None) != (edge.from_table is None)
        assert 0 <= edge.to_stage < len(graph.stages)
        if edge.from_stage is not None:
            assert edge.from_stage < edge.to_stage
    assert msgspec.json.decode(msgspec.json.encode(graph), type=GraphBody) == graph
