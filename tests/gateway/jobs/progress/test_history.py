"""Aggregated worker statistics do not depend on the order in which they are read."""

from __future__ import annotations

import random

import pytest

from cauce.gateway.jobs.progress.history import History
from cauce.worker.counters import Flow
from cauce.worker.stats import StatsRecord, TaskNumbers


def stats(worker: str, at: float, task: int, busy_s: float, rows: int = 0, *, finished: bool = False) -> StatsRecord:
    numbers = TaskNumbers(
        busy_s, 0.0, Flow(rows, rows, rows * 10), {7: Flow(rows, rows, rows)}, {7: rows}, {}, finished
    )
    return StatsRecord(worker, at, {task: numbers})


RECORDS = [
    stats("a", 101.0, 0, 1.0, 10),
    stats("a", 102.0, 0, 1.5, 20),
    stats("a", 104.0, 0, 3.5, 40, finished=True),
    stats("b", 101.5, 1, 0.5, 5),
    stats("b", 103.5, 1, 2.5, 25),
]


def history(records: list[StatsRecord]) -> History:
    made = History()
    for each in records:
        made.take(each)
    return made


def interleaved(seed: int) -> list[StatsRecord]:
    """Records of one worker in order, those of two workers in any order, and some duplicated."""
    chance = random.Random(seed)
    by_worker = {worker: [each for each in RECORDS if each.worker_id == worker] for worker in "ab"}
    order = [each.worker_id for each in RECORDS]
    chance.shuffle(order)
    return [each for worker in order for each in [by_worker[worker].pop(0)] * chance.choice([1, 2])]


@pytest.mark.parametrize("seed", range(20))
def test_the_order_of_reading_changes_nothing(seed: int) -> None:
    plain, mixed = history(RECORDS), history(interleaved(seed))
    assert plain.progress == mixed.progress
    assert plain.extent == mixed.extent
    assert plain.gained(100.5, 103.0) == mixed.gained(100.5, 103.0)


def test_totals_are_the_last_counters() -> None:
    found = history(RECORDS).totals()
    assert found == history(RECORDS).gained(0.0, 200.0)
    assert (found[0].busy_s, found[0].read) == (3.5, Flow(40, 40, 400))
    assert (found[1].busy_s, found[1].read.rows) == (2.5, 25)


def test_a_window_gets_its_share_of_each_span() -> None:
    found = history(RECORDS).gained(103.0, 104.0)
    # The second half of two seconds in which task 0 was busy for two, and a quarter of those of task 1.
    assert found[0].busy_s == pytest.approx(1.0)
    assert found[1].busy_s == pytest.approx(0.5)


def test_the_first_record_covers_the_time_before_it() -> None:
    assert history(RECORDS).extent == (100.0, 104.0)


def test_busy_time_is_spread_over_buckets_without_loss() -> None:
    busy = history(RECORDS).busy(100.0, 104.0, 8)
    assert sum(busy[0]) == pytest.approx(3.5)
    assert sum(busy[1]) == pytest.approx(2.5)
    assert busy[0][-1] == pytest.approx(0.5)


def test_a_task_that_is_finished_stays_so() -> None:
    late = stats("c", 105.0, 0, 0.1)
    assert history([*RECORDS, late]).progress[0].finished
    assert history([late, *RECORDS]).progress[0].finished


def test_a_long_history_gets_coarser_and_loses_nothing() -> None:
    made = history([stats("a", 100.0 + number, 0, number * 0.5, number) for number in range(1, 5_000)])
    assert len(made.spans) <= 600
    assert made.gained(0.0, 10_000.0)[0].read.rows == 4_999
    assert made.gained(0.0, 10_000.0)[0].busy_s == pytest.approx(4_999 * 0.5)
    # The last minute keeps the resolution of its records.
    assert made.gained(5_098.0, 5_099.0)[0].busy_s == pytest.approx(0.5)
