"""A job's plan at work: what it shows before, during and after, and the sentence that goes with it."""

from __future__ import annotations

import msgspec
import pytest

from cauce.gateway.errors import JobOver
from cauce.gateway.graph import GraphBody
from cauce.gateway.jobs import Jobs
from cauce.gateway.names import fabric_name
from cauce.worker.loop import Ending, Worker
from cauce.worker.stats import STATS_LOG, Clocks, Stats
from cauce.worker.topology import JOB_LOG
from tests.gateway.serving import JOB, OWNER, Sent, World, run_to_end, send


class Ticking:
    """The world's clock, which goes on a little with each look of a worker."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __call__(self) -> float:
        self._world.clock.now += 0.02
        return self._world.clock.now


def telling_worker(world: World) -> Worker:
    fabric = world.fabric()
    ticking = Ticking(world)
    return Worker(fabric, stats=Stats(fabric, Clocks(ticking, ticking)))


def finished(world: World, sent: Sent) -> Jobs:
    jobs, worker = world.gateway(), telling_worker(world)
    send(jobs, sent)
    run_to_end(jobs, worker)
    for _ in range(20):
        worker.step()
    return jobs


def backlog(graph: GraphBody) -> int:
    return sum(edge.backlog for edge in graph.edges)


def test_before_anything_comes_all_is_idle(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    jobs.create(OWNER, JOB, sent.request)
    graph = jobs.graph(OWNER, JOB)
    assert graph.live
    assert all((stage.busy, stage.waiting, stage.idle) == (0.0, 0.0, 1.0) for stage in graph.stages)
    assert backlog(graph) == 0
    assert [each.what for each in graph.happenings] == ["created"]


def test_parts_that_nobody_has_read_wait_before_their_scan(world: World, sent: Sent) -> None:
    jobs = world.gateway()
    send(jobs, sent)
    graph = jobs.graph(OWNER, JOB)
    waiting = {edge.from_table: (edge.unit, edge.backlog) for edge in graph.edges if edge.from_table is not None}
    assert waiting == {table: ("part", len(parts)) for table, parts in sent.tables.items()}
    assert sum(edge.backlog_bytes for edge in graph.edges) == sum(len(body.data) for _, _, body in sent.each())


def test_when_it_is_done_every_stage_is_finished_and_nothing_waits(world: World, sent: Sent) -> None:
    graph = finished(world, sent).graph(OWNER, JOB)
    assert not graph.live
    assert all(stage.finished == stage.tasks for stage in graph.stages)
    assert backlog(graph) == 0
    rows = sum(status.rows for status in finished_tables(world).values())
    assert sum(stage.rows for stage in graph.stages if stage.kind == "scan") >= rows > 0
    for stage in graph.stages:
        assert stage.busy + stage.waiting + stage.idle == pytest.approx(1.0, abs=1e-3)
        assert stage.tasks == 0 or stage.busy > 0


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
    ending = Ending("failed", "the cause", "job-failed")
    world.fabric().append(fabric_name(OWNER, JOB), JOB_LOG, [ending.dump(task.number)])
    graph = jobs.graph(OWNER, JOB)
    assert [stage.number for stage in graph.stages if stage.failed] == [topology.plan.stages.index(task.stage)]
    assert backlog(graph) == 0


def finished_tables(world: World) -> dict[str, object]:
    return dict(world.gateway().status(OWNER, JOB).tables)  # type: ignore[arg-type]


def test_what_happened_is_in_order_and_ends_with_the_end(world: World, sent: Sent) -> None:
    graph = finished(world, sent).graph(OWNER, JOB)
    told = [each.what for each in graph.happenings]
    moments = [each.at for each in graph.happenings]
    assert moments == sorted(moments)
    assert told[0] == "created"
    assert told.count("completed") == len(sent.tables)
    assert "done" in told
    assert told.count("finished") == sum(stage.tasks > 0 for stage in graph.stages)
    assert graph.history.start <= moments[0]
    assert graph.history.end >= moments[-1]


def test_history_has_a_row_for_each_stage_and_is_kept_with_the_job(world: World, sent: Sent) -> None:
    finished(world, sent)
    world.clock.now += 100
    # Another gateway, which has never seen it at work, and after the job was trimmed.
    later = world.gateway()
    later.sweep()
    graph = later.graph(OWNER, JOB)
    assert len(graph.history.busy) == len(graph.stages)
    assert max(max(row, default=0.0) for row in graph.history.busy) > 0
    assert STATS_LOG in later._views.open(OWNER, JOB).kept_logs()


def test_the_sentence_is_the_one_of_why(world: World, sent: Sent) -> None:
    jobs, worker = world.gateway(), telling_worker(world)
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


def test_the_sentence_names_the_busiest_stage_and_what_waits_before_it(lone: World, sent: Sent) -> None:
    jobs, worker = lone.gateway(), telling_worker(lone)
    send(jobs, sent)
    for _ in range(2_000):
        worker.step()
        said = jobs.why(OWNER, JOB)
        if "holds it up" in said:
            break
    else:
        pytest.fail(f"no stage was ever busy: {said}")
    graph = jobs.graph(OWNER, JOB)
    busiest = max((stage for stage in graph.stages if stage.finished < stage.tasks), key=lambda stage: stage.busy)
    assert f"{busiest.name} holds it up, busy" in graph.why
    assert "\n" not in graph.why


def test_of_a_job_that_is_gone_there_is_no_graph(world: World, sent: Sent) -> None:
    jobs = finished(world, sent)
    jobs.cancel(OWNER, JOB)
    with pytest.raises(JobOver):
        jobs.graph(OWNER, JOB)


def test_edges_lead_from_what_is_there_to_what_is_there(lone: World, sent: Sent) -> None:
    graph = finished(lone, sent).graph(OWNER, JOB)
    assert len({edge.id for edge in graph.edges}) == len(graph.edges)
    for edge in graph.edges:
        assert (edge.from_stage is None) != (edge.from_table is None)
        assert 0 <= edge.to_stage < len(graph.stages)
        if edge.from_stage is not None:
            assert edge.from_stage < edge.to_stage
    assert msgspec.json.decode(msgspec.json.encode(graph), type=GraphBody) == graph
