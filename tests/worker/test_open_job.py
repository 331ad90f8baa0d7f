"""The order in which a worker runs the tasks of a job."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from cauce.datasets import load
from cauce.job.topology import FOLDS, SOURCES, Topology
from cauce.worker.open_job import HeldTask, OpenJob


def test_folds_that_a_pass_waits_for_run_first_and_lanes_last() -> None:
    topology = Topology(load("books").plan((), {}, 2, isolate=False), 2)
    job = OpenJob(cast(Any, None), cast(Any, SimpleNamespace(topology=topology)))
    for spec in topology.tasks:
        queue = FOLDS if spec.stage.table is None else SOURCES
        job.held[queue].append(HeldTask(job, queue, cast(Any, None), cast(Any, SimpleNamespace(spec=spec))))
    names = [held.task.spec.stage.name for held in job.in_turn()]
    assert names[:4] == ["group by title"] * 4
    assert names[4:6] == ["join by author"] * 2
    assert names[-4:] == ["scan books"] * 2 + ["scan reviews"] * 2
    assert sorted(names) == sorted(spec.stage.name for spec in topology.tasks)
