"""`cauce datasets` and `cauce explain`: what there is to ask, and how it would be answered."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cauce.datasets import BUILT_IN, load
from cauce.plan.explain import explain
from tests.cli.running import cauce


def test_datasets_lists_all_tables_files_and_queries(tmp_path: Path) -> None:
    outcome = cauce(tmp_path, "datasets")
    assert (outcome.code, outcome.err) == (0, "")
    assert "\x1b" not in outcome.out
    for name in BUILT_IN:
        dataset = load(name)
        for table in dataset.tables:
            assert table.spec.files[0] in outcome.out
        for query in dataset.queries.values():
            assert query.question in outcome.out
    assert outcome.out.count("  q") == 19


def test_explain_shows_the_stages_of_the_chosen_queries(tmp_path: Path) -> None:
    outcome = cauce(tmp_path, "explain", "books", "--queries", "q1,q4", "--partitions", "3")
    assert (outcome.code, outcome.err) == (0, "")
    assert "scan reviews" in outcome.out
    assert "3 partitions" in outcome.out
    assert "answer q4" in outcome.out
    assert "answer q5" not in outcome.out


@pytest.mark.slow
@pytest.mark.parametrize("dataset", BUILT_IN)
def test_explain_is_the_same_in_every_process(dataset: str, tmp_path: Path) -> None:
    outcome = cauce(tmp_path, "explain", dataset, "--partitions", "2")
    assert (outcome.code, outcome.out) == (0, explain(load(dataset).plan(partitions=2)))


@pytest.mark.slow
def test_help_names_every_command(tmp_path: Path) -> None:
    outcome = cauce(tmp_path, "--help")
    assert outcome.code == 0
    for command in ("run", "explain", "datasets", "generate", "demo"):
        assert f"  {command} " in outcome.out


def test_a_closed_pipe_is_no_failure(tmp_path: Path) -> None:
    """As `head` does when it has seen enough."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as nowhere:
        command = [sys.executable, "-m", "cauce", "datasets"]
        done = subprocess.run(command, cwd=tmp_path, stdout=nowhere, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
