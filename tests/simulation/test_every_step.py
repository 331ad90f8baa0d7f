"""A crash at every step that others can see, one run for each: the answer is the same each time."""

from __future__ import annotations

import itertools

import pytest

from cauce.chaos.simulate import simulate_crash_at

FEW = [("movies", "q1")]
MORE = [("coffee", "q3"), ("flights", "q4")]
LONG = [pytest.param(*each, marks=pytest.mark.soak) for each in (("books", "q4"), ("movies", "q3"), ("coffee", "q4"))]


def crash_everywhere(dataset: str, query: str) -> set[str]:
    """Runs with a crash at step 0, 1, 2, … until there is no such step; the kinds of steps that were hit."""
    kinds: set[str] = set()
    for number in itertools.count():
        outcome, where = simulate_crash_at(dataset, query, number)
        if not where:
            return kinds
        assert not outcome.problem, f"crash {where} in {dataset}.{query}: {outcome.problem}"
        moment, step = where.split()[:2]
        kinds.add(f"{moment} {step}")
    raise AssertionError


@pytest.mark.parametrize(("dataset", "query"), FEW)
def test_a_crash_at_any_step_changes_nothing(dataset: str, query: str) -> None:
    kinds = crash_everywhere(dataset, query)
    assert {"before append", "after append", "after take", "before done", "after done", "before create"} <= kinds


@pytest.mark.slow
@pytest.mark.parametrize(("dataset", "query"), [*MORE, *LONG])
def test_a_crash_at_any_step_of_a_longer_job_changes_nothing(dataset: str, query: str) -> None:
    assert crash_everywhere(dataset, query)
