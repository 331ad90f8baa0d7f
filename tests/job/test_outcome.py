"""Which outcome of a job counts: the same for every reader, in whatever order it reads the records."""

from __future__ import annotations

from itertools import permutations

import pytest

from cauce.errors import PlanMismatch
from cauce.fabric.records import Kind, record
from cauce.job.outcome import Outcome, Outcomes

FAILED = Outcome("failed", "boom", "job-failed")
CANCELLED = Outcome("cancelled", "by its owner", at=20.0)
LATE = Outcome("failed", "late", at=30.0)
DONE = Outcome("done", at=40.0)
MISMATCH = Outcome("failed", "another plan", PlanMismatch.code)


@pytest.mark.parametrize(
    ("recorded", "counts"),
    [
        ([FAILED], FAILED),
        ([FAILED, CANCELLED], CANCELLED),
        ([LATE, CANCELLED], CANCELLED),
        ([FAILED, CANCELLED, DONE], DONE),
        ([FAILED, Outcome("failed", "avalanche")], Outcome("failed", "avalanche")),
        ([DONE, Outcome("done", at=35.0)], Outcome("done", at=35.0)),
    ],
)
def test_the_outcome_that_counts_does_not_depend_on_the_order(recorded: list[Outcome], counts: Outcome) -> None:
    for order in permutations(recorded):
        assert Outcomes(each.dump(7) for each in order).effective == counts


def test_a_job_without_an_outcome_is_open() -> None:
    assert Outcomes([record(Kind.CRASH, 0, 1, b"{}")]).effective is None


def test_complete_answers_make_an_open_job_done() -> None:
    assert Outcomes().with_answers(complete=True) == Outcome("done")
    assert Outcomes().with_answers(complete=False) is None


def test_complete_answers_do_not_undo_a_recorded_outcome() -> None:
    assert Outcomes([CANCELLED.dump(1)]).with_answers(complete=True) == CANCELLED
    assert Outcomes([FAILED.dump(1)]).with_answers(complete=True) == FAILED


def test_a_plan_mismatch_counts_only_if_the_answers_are_incomplete_or_a_gateway_confirmed_it() -> None:
    assert Outcomes([MISMATCH.dump(1)]).with_answers(complete=True) == Outcome("done")
    assert Outcomes([MISMATCH.dump(1)]).with_answers(complete=False) == MISMATCH
    confirmed = Outcome("failed", "another plan", PlanMismatch.code, 5.0)
    assert Outcomes([confirmed.dump(1)]).with_answers(complete=True) == confirmed


def test_failed_tasks_are_those_with_the_cause_that_counts() -> None:
    outcomes = Outcomes(
        [Outcome("failed", "a").dump(1), Outcome("failed", "b").dump(2), Outcome("failed", "a").dump(3)]
    )
    assert outcomes.failed_tasks() == {1, 3}
    assert Outcomes([FAILED.dump(1), DONE.dump(9)]).failed_tasks() == set()
