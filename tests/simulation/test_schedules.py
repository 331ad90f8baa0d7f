"""Thousands of jobs under simulated faults: all must give the expected answer, and none may hang."""

from __future__ import annotations

import pytest

from cauce.lab.chaos.simulate import simulate
from cauce.lab.chaos.simulated_jobs import JOBS
from tests.simulation.occurrence import missing

GROUPS, MORE_GROUPS = 4, 50
SCHEDULES_IN_A_GROUP = 100


def seeds_of(group: int) -> range:
    start = 1_000 + group * SCHEDULES_IN_A_GROUP
    return range(start, start + SCHEDULES_IN_A_GROUP)


def problems(seeds: range) -> list[str]:
    outcomes = [simulate(seed) for seed in seeds]
    return [
        f"seed {each.seed} ({each.what}): {each.problem}; again with: ./cauce chaos simulate --seed {each.seed}"
        for each in outcomes
        if each.problem
    ]


def test_quick_schedules_cover_every_job() -> None:
    assert not problems(range(len(JOBS)))


def test_schedule_has_faults_and_is_deterministic() -> None:
    first, second = simulate(11), simulate(11)
    assert first.faults
    assert (first.faults, first.turns, first.problem) == (second.faults, second.turns, second.problem)


@pytest.mark.slow
def test_all_fault_kinds_occur() -> None:
    kinds = ("crashes before", "crashes after", "crashes while writing", "no confirmation", "disk full", "is paused")
    assert not missing(kinds, (fault for seed in range(100, 160) for fault in simulate(seed).faults))


@pytest.mark.slow
@pytest.mark.parametrize("group", range(GROUPS))
def test_schedules_give_the_expected_answer(group: int) -> None:
    assert not problems(seeds_of(group))


@pytest.mark.soak
@pytest.mark.parametrize("group", range(GROUPS, MORE_GROUPS))
def test_more_schedules_give_the_expected_answer(group: int) -> None:
    assert not problems(seeds_of(group))
