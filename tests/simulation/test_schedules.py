"""Thousands of jobs under simulated faults: none may give another answer, none may hang."""

from __future__ import annotations

import pytest

from cauce.chaos.simulate import QUERIES, simulate

GROUPS, MORE_GROUPS = 8, 50
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


def test_every_query_is_among_a_few_schedules() -> None:
    assert not problems(range(2 * len(QUERIES)))


def test_a_schedule_has_faults_and_is_the_same_each_time() -> None:
    first, second = simulate(11), simulate(11)
    assert first.faults
    assert (first.faults, first.turns, first.problem) == (second.faults, second.turns, second.problem)


@pytest.mark.slow
def test_all_kinds_of_faults_happen() -> None:
    told = "\n".join(fault for seed in range(100, 160) for fault in simulate(seed).faults)
    for kind in ("dies before", "dies after", "dies while writing", "no confirmation", "disk full", "is paused"):
        assert kind in told


@pytest.mark.slow
@pytest.mark.parametrize("group", range(GROUPS))
def test_no_schedule_gives_another_answer_or_hangs(group: int) -> None:
    assert not problems(seeds_of(group))


@pytest.mark.soak
@pytest.mark.parametrize("group", range(GROUPS, MORE_GROUPS))
def test_no_further_schedule_gives_another_answer_or_hangs(group: int) -> None:
    assert not problems(seeds_of(group))
