"""The commands of docs/troubleshooting.md run in a terminal and print the output shown there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.troubleshooting import PAGE, problems, recorded, render, run_all
from tests.docs.troubleshooting_cases import CASES, Case
from tests.docs.troubleshooting_world import HOME, Outcome, world

REFRESH = "run .venv/bin/python -m tests.docs.troubleshooting --write, and read what it wrote"
BY_NAME = {case.name: case for case in CASES}


def test_page_is_generated_from_the_cases() -> None:
    page = PAGE.read_text(encoding="utf-8")
    shown = recorded(page)
    assert list(shown) == [case.name for case in CASES], REFRESH
    assert render(shown) == page, REFRESH


def test_every_recorded_output_has_the_essentials() -> None:
    shown = recorded(PAGE.read_text(encoding="utf-8"))
    wrong = {case.name: problems(case, Outcome(case.code, shown[case.name])) for case in CASES}
    assert {name: found for name, found in wrong.items() if found} == {}


def test_case_names_are_unique() -> None:
    assert len(CASES) >= 30
    assert len(BY_NAME) == len(CASES)


@pytest.mark.slow
@pytest.mark.long
def test_every_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    """All in one test: they share a service, and one of them waits for half a minute meanwhile."""
    shown = recorded(PAGE.read_text(encoding="utf-8"))
    with world(tmp_path / "world") as where:
        outcomes = run_all(where)
    assert len(outcomes) >= len(CASES) - 3
    wrong = {name: problems(BY_NAME[name], outcome) for name, outcome in outcomes.items()}
    assert {name: (found, outcomes[name].output) for name, found in wrong.items() if found} == {}
    differing = {name: outcome.output for name, outcome in outcomes.items() if outcome.output != shown[name]}
    assert differing == {}, REFRESH


def test_wrong_output_is_detected() -> None:
    case = Case("x", "./cauce run x", 2, (r"\bx\b", "remedy"), "do it")
    good = "error [usage] x is wrong; the remedy"
    assert problems(case, Outcome(2, good)) == []
    assert problems(case, Outcome(1, good)) == ["exit code 1, expected 2"]
    assert problems(case, Outcome(2, "error [usage] x is wrong")) == ["does not match 'remedy'"]
    assert problems(case, Outcome(2, "")) != []
    assert problems(case, Outcome(2, f"Traceback\n{good}")) != []
    assert problems(case, Outcome(2, f"{good}\n{good}")) == ["prints 2 lines, expected 1 to 1"]


def test_no_path_of_this_machine_is_shown() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert "/tmp/" not in page
    assert HOME in page
