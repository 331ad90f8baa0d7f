"""The verdict on a mutation: only an assertion in the call phase of each named test counts."""

from __future__ import annotations

from tests.mutations.mutation import Mutation
from tests.mutations.pytest_runs import Phase, PytestRun
from tests.mutations.verdict import Verdict, judge

TEST, OTHER = "tests/test_a.py::test_one", "tests/test_a.py::test_two"


def mutation(*tests: str, raises: tuple[str, ...] = (), hangs: bool = False) -> Mutation:
    return Mutation("a-name", "", (), tests or (TEST,), raises, hangs=hangs)


def verdict(mutated: Mutation, code: int | None, *phases: Phase) -> Verdict:
    return judge(mutated, PytestRun(code, 1.0, phases, "")).verdict


def failed(node: str = TEST, phase: str = "call", exception: str = "AssertionError") -> Phase:
    return Phase(node, phase, "failed", exception, "message")


def passed(node: str = TEST) -> Phase:
    return Phase(node, "call", "passed")


def test_a_failed_assertion_detects_a_mutation() -> None:
    assert verdict(mutation(), 1, failed()) is Verdict.DETECTED
    assert verdict(mutation(), 1, passed(f"{TEST}[a]"), failed(f"{TEST}[b]")) is Verdict.DETECTED


def test_a_test_that_passes_lets_a_mutation_survive() -> None:
    assert verdict(mutation(), 0, passed()) is Verdict.SURVIVED
    assert verdict(mutation(TEST, OTHER), 1, failed(), passed(OTHER)) is Verdict.SURVIVED


def test_the_failure_of_a_test_whose_name_only_begins_alike_does_not_count() -> None:
    assert verdict(mutation(), 1, passed(), failed(f"{TEST}_more")) is Verdict.SURVIVED


def test_an_unexpected_exception_is_a_wrong_failure() -> None:
    assert verdict(mutation(), 1, failed(exception="NameError")) is Verdict.WRONG_FAILURE
    assert verdict(mutation(raises=("OSError",)), 1, failed(exception="OSError")) is Verdict.DETECTED


def test_failures_outside_the_call_phase_do_not_count() -> None:
    assert verdict(mutation(), 1, failed(phase="setup")) is Verdict.WRONG_FAILURE
    assert verdict(mutation(), 2, failed("tests/test_a.py", "collect", "CollectError")) is Verdict.WRONG_FAILURE
    assert verdict(mutation(), 4) is Verdict.WRONG_FAILURE


def test_a_timeout_counts_only_for_a_mutation_that_hangs() -> None:
    assert verdict(mutation(), None) is Verdict.TIMEOUT
    assert verdict(mutation(hangs=True), None) is Verdict.DETECTED
