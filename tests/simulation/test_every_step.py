"""One run for each externally visible step, with a crash there: the answer is always the same."""

from __future__ import annotations

import itertools

import pytest

from cauce.lab.chaos.simulate import simulate_crash_at
from cauce.lab.chaos.simulate_service import ENDINGS, Ending, simulate_service_crash_at
from cauce.lab.chaos.sql_shop import SHOP_JOBS
from cauce.sql_frontend.dataset import NAME as SQL

FEW = [("movies", "q1")]
MORE = [("flights", "q4")]
LONG = [
    pytest.param(*each, marks=pytest.mark.soak)
    for each in (("books", "q4"), ("movies", "q3"), ("coffee", "q3"), ("coffee", "q4"))
]


def crash_everywhere(dataset: str, *queries: str) -> set[str]:
    """Runs with a crash at step 0, 1, 2, … until there is no such step. Returns the kinds of steps that were hit."""
    kinds: set[str] = set()
    for number in itertools.count():
        outcome, where = simulate_crash_at(dataset, queries, number)
        if not where:
            return kinds
        assert not outcome.problem, f"crash {where} in {dataset} {queries}: {outcome.problem}"
        moment, step = where.split()[:2]
        kinds.add(f"{moment} {step}")
    raise AssertionError


@pytest.mark.parametrize(("dataset", "query"), FEW)
def test_a_crash_at_any_step_changes_nothing(dataset: str, query: str) -> None:
    kinds = crash_everywhere(dataset, query)
    steps = ("before append", "after append", "after acquire", "before complete", "after complete", "before create")
    assert kinds.issuperset(steps)


@pytest.mark.slow
@pytest.mark.parametrize(("dataset", "query"), [*MORE, *LONG])
def test_a_crash_at_any_step_of_a_longer_job_changes_nothing(dataset: str, query: str) -> None:
    assert crash_everywhere(dataset, query)


@pytest.mark.slow
def test_a_crash_at_any_step_of_a_job_made_from_sql_changes_nothing() -> None:
    assert crash_everywhere(SQL, "full_join")


@pytest.mark.soak
@pytest.mark.parametrize("queries", SHOP_JOBS)
def test_a_crash_at_any_step_of_all_jobs_made_from_sql_changes_nothing(queries: tuple[str, ...]) -> None:
    assert crash_everywhere(SQL, *queries)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_crash_of_a_gateway_at_any_step_changes_nothing(ending: Ending) -> None:
    kinds: set[str] = set()
    for number in itertools.count():
        outcome, where = simulate_service_crash_at("movies", "q1", number, ending)
        assert not outcome.problem, f"crash {where}, {ending}: {outcome.problem}"
        if not where:
            break
        kinds.add(" ".join(where.split()[:2]))
    assert {"before create", "after create", "before append", "after append", "before delete", "after delete"} <= kinds
