"""Thousands of uploads through simulated gateways: no acknowledged part is lost, no answer differs, nothing remains."""

from __future__ import annotations

import pytest

from cauce.lab.chaos.simulate_service import simulate_rivals, simulate_service
from cauce.lab.chaos.simulated_jobs import JOBS
from tests.simulation.occurrence import missing

GROUPS, MORE_GROUPS = 2, 50
SCHEDULES_IN_A_GROUP = 100


def problems(seeds: range) -> list[str]:
    outcomes = [simulate_service(seed) for seed in seeds]
    return [
        f"seed {each.seed} ({each.what}): {each.problem}; faults: {each.faults}" for each in outcomes if each.problem
    ]


def seeds_of(group: int) -> range:
    start = 1_000 + group * SCHEDULES_IN_A_GROUP
    return range(start, start + SCHEDULES_IN_A_GROUP)


def test_every_job_is_among_a_few_schedules() -> None:
    assert not problems(range(len(JOBS)))


def test_a_schedule_is_the_same_each_time() -> None:
    first, second = simulate_service(3), simulate_service(3)
    assert first.faults
    assert (first.faults, first.turns, first.problem) == (second.faults, second.turns, second.problem)


def test_one_of_two_contents_of_a_part_is_refused() -> None:
    outcomes = [simulate_rivals(seed) for seed in range(200)]
    assert [f"seed {each.seed}: {each.problem}" for each in outcomes if each.problem] == []


@pytest.mark.slow
def test_gateways_and_workers_meet_all_kinds_of_faults() -> None:
    kinds = ("crashes before", "crashes after", "crashes while writing", "gets no confirmation")
    wanted = [f"{who}: {kind}" for who in ("gateway 0", "gateway 1", "worker 0") for kind in kinds]
    assert not missing(wanted, (fault for seed in range(100, 160) for fault in simulate_service(seed).faults))


@pytest.mark.slow
@pytest.mark.parametrize("group", range(GROUPS))
def test_no_schedule_breaks_a_guarantee(group: int) -> None:
    assert not problems(seeds_of(group))


@pytest.mark.soak
@pytest.mark.parametrize("group", range(GROUPS, MORE_GROUPS))
def test_no_further_schedule_breaks_a_guarantee(group: int) -> None:
    assert not problems(seeds_of(group))
