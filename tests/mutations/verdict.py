"""Decides from the runs of its tests whether a mutation was detected. Does no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from tests.mutations.mutation import Mutation
from tests.mutations.pytest_runs import Phase, PytestRun

FAILED_TESTS = 1
"""The exit code of pytest if tests have failed and nothing else went wrong."""


class Verdict(Enum):
    DETECTED = "detected"
    SURVIVED = "SURVIVED"
    WRONG_FAILURE = "WRONG FAILURE"
    """Tests failed for another reason than an assertion: the mutation may only have broken the program."""
    TIMEOUT = "TIMEOUT"
    NOT_READY = "NOT READY"
    """A test fails or is skipped without the mutation, or an old text does not occur exactly once."""


@dataclass(frozen=True)
class Judgement:
    verdict: Verdict
    test: str = ""
    why: str = ""


def judge(mutation: Mutation, run: PytestRun) -> Judgement:
    """The verdict on a run of the tests with the mutation."""
    if run.exit_code is None:
        verdict = Verdict.DETECTED if mutation.hangs else Verdict.TIMEOUT
        return Judgement(verdict, mutation.tests[0], f"still running after {mutation.timeout_s:.0f} s")
    failures = {test: run.call_failures(test) for test in mutation.tests}
    if not any(failures.values()) and run.exit_code == 0:
        return Judgement(Verdict.SURVIVED, mutation.tests[0], "passes with the mutation")
    if run.exit_code != FAILED_TESTS:
        return Judgement(Verdict.WRONG_FAILURE, mutation.tests[0], f"pytest exited with {run.exit_code}")
    return _judge_failures(mutation, run, failures)


def _judge_failures(mutation: Mutation, run: PytestRun, failures: Mapping[str, list[Phase]]) -> Judgement:
    for test, found in failures.items():
        if not found:
            others = [each for each in run.phases if each.outcome == "failed"]
            verdict = Verdict.SURVIVED if run.passed(test) else Verdict.WRONG_FAILURE
            why = "passes with the mutation" if run.passed(test) else f"{others[0].phase}: {others[0].message}"
            return Judgement(verdict, test, why)
        if not any(each.exception in mutation.accepted for each in found):
            return Judgement(Verdict.WRONG_FAILURE, test, found[0].message)
    test, found = next(iter(failures.items()))
    detected = next(each for each in found if each.exception in mutation.accepted)
    return Judgement(Verdict.DETECTED, detected.node, detected.message)
