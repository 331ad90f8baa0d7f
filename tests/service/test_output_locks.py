"""Answers of a service are not written to a place that another command writes to."""

from __future__ import annotations

from pathlib import Path

from cauce.runner.output_dir import OutputLock
from tests.cli.running import cauce
from tests.service.conftest import Case
from tests.service.running import Running


def test_a_submit_leaves_its_answers_at_the_service_while_another_command_writes(
    service: Running, case: Case, tmp_path: Path
) -> None:
    submit = ["submit", "books", "--data", str(case.data), "--queries", "q1", "--job", "busy", "--out", "out"]
    with OutputLock.of_directory(tmp_path / "out", "cauce run books"):
        outcome = cauce(tmp_path, *submit, "--gateway", service.url)
        assert outcome.code == 2, outcome.err
        printed = " ".join(outcome.err.split())
        assert "job busy is done, and its answers were not fetched: another command is writing to out" in printed
        assert "then run: cauce submit books" in printed
    assert cauce(tmp_path, *submit, "--gateway", service.url).code == 0
    assert (tmp_path / "out" / "q1.csv").read_bytes() == case.wanted["q1"]
