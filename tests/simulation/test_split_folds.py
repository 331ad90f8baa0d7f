"""Whole jobs with so little memory that every fold splits: the answers are those of a run without a limit."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from cauce.lab.chaos.simulate import simulate, simulate_crash_at
from cauce.lab.chaos.simulated_jobs import JOBS
from cauce.operators.expansion import Expansion
from cauce.plan.evaluate import Evaluator
from cauce.plan.nodes.group_by import _EagerAggregation
from cauce.worker.memory.external_sort import ExternalSort
from cauce.worker.tasks import source_task
from cauce.worker.tasks.split_fold import SplitFold

SMALL, TINY = 200, 1
"""Sizes of a fold, in bytes: some ranges fit, or none does, so that every one is streamed."""


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts the ways in which folds were computed, broadcast inputs that were joined in blocks, and joins that were
    computed in slices or without their pairs."""
    counted: Counter[str] = Counter()
    folds = [(SplitFold, "_split"), (SplitFold, "_stream"), (SplitFold, "_compute")]
    joins = [(Expansion, "_slice"), (_EagerAggregation, "partial")]
    for owner, name in (*folds, *joins, (ExternalSort, "add"), (source_task, "received_in_blocks")):
        original = getattr(owner, name)

        def counting(*given: object, original=original, name: str = name, **named: object) -> object:  # type: ignore[no-untyped-def]
            counted[name] += 1
            return original(*given, **named)

        monkeypatch.setattr(owner, name, counting)
    return counted


@pytest.mark.slow
def test_every_query_gives_the_same_answer_if_its_folds_split(calls: Counter[str]) -> None:
    for seed in range(len(JOBS)):
        outcome = simulate(seed, fold_bytes=SMALL)
        assert not outcome.problem, f"seed {seed}, {outcome.what}: {outcome.problem}"
    assert all(calls[name] for name in ("_split", "_stream", "_compute", "add", "received_in_blocks"))


@pytest.mark.parametrize(("fold_bytes", "way"), [(0, "partial"), (SMALL, "_slice")])
def test_a_join_far_larger_than_its_sides_gives_the_same_answer(
    fold_bytes: int, way: str, calls: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Evaluator, "slice_cells", 1)
    first = next(number for number, (_, queries) in enumerate(JOBS) if "pairs" in queries)
    for seed in (first, first + len(JOBS)):
        outcome = simulate(seed, fold_bytes=fold_bytes)
        assert not outcome.problem, f"seed {seed}, {outcome.what}: {outcome.problem}"
    assert calls[way]


@pytest.mark.slow
@pytest.mark.parametrize("fold_bytes", [TINY, 40, 1_000])
def test_schedules_with_faults_and_any_limit(fold_bytes: int) -> None:
    for seed in range(100, 100 + len(JOBS)):
        outcome = simulate(seed, fold_bytes=fold_bytes)
        assert not outcome.problem, f"seed {seed}, {outcome.what}: {outcome.problem}"


def crash_everywhere(dataset: str, query: str, fold_bytes: int) -> int:
    """Runs with a crash at step 0, 1, 2, … until there is no such step. Returns the crashes while journals were
    written, which is where a split fold records its progress."""
    journals = 0
    for number in itertools.count():
        outcome, where = simulate_crash_at(dataset, (query,), number, fold_bytes)
        if not where:
            return journals
        assert not outcome.problem, f"crash {where} in {dataset}.{query}: {outcome.problem}"
        journals += "journal" in where
    raise AssertionError


@pytest.mark.slow
def test_a_crash_at_any_step_of_a_split_fold_changes_nothing(calls: Counter[str]) -> None:
    assert crash_everywhere("movies", "q4", 100)
    assert calls["_split"]
    assert calls["received_in_blocks"]


@pytest.mark.soak
@pytest.mark.parametrize(("dataset", "query"), [("coffee", "q3"), ("flights", "q4"), ("books", "q4"), ("movies", "q3")])
def test_a_crash_at_any_step_of_a_longer_job_changes_nothing(dataset: str, query: str) -> None:
    assert crash_everywhere(dataset, query, SMALL)
