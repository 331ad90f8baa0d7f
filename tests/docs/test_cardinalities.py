"""The numbers of logs and streams of a job in docs/architecture.md are correct."""

from __future__ import annotations

from cauce.datasets import BUILT_IN, load
from cauce.fabric.names import Log
from cauce.job.receipts import Receipts
from cauce.job.topology import JOB_LOG, Topology
from cauce.worker.stats import STATS_LOG
from tests.docs.pages import ROOT, text_of

PAGE = ROOT / "docs/architecture.md"


def logs(dataset: str, lanes: int) -> list[Log]:
    """All logs of a job of a service with all queries, with as many partitions as lanes."""
    topology = Topology(load(dataset).plan([], {}, lanes), lanes)
    receipts = [Receipts(table.name).log for table in topology.plan.tables]
    return [*topology.logs(), *(task.journal for task in topology.tasks), JOB_LOG, STATS_LOG, *receipts]


def streams(dataset: str, lanes: int) -> int:
    return len({log.group for log in logs(dataset, lanes)})


def span(numbers: list[int]) -> str:
    return f"{min(numbers)} to {max(numbers)}"


def test_number_of_logs_of_a_job_is_correct() -> None:
    counted = span([len(logs(dataset, 2)) for dataset in BUILT_IN])
    assert f"| {counted} with two lanes and two partitions |" in text_of(PAGE)


def test_number_of_streams_of_a_job_is_correct() -> None:
    two, eight = (span([streams(dataset, lanes) for dataset in BUILT_IN]) for lanes in (2, 8))
    assert f"{two} with two lanes, {eight} with eight" in text_of(PAGE)
