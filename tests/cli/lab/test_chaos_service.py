"""`cauce chaos service`: clients get their answers while everything is killed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.running import cauce

SHORT = ["--minutes", "0.3", "--kill-every", "1s", "--scale", "0.0005", "--clients", "2"]


@pytest.mark.slow
@pytest.mark.parametrize("fabric", [pytest.param("files", marks=pytest.mark.soak), "rabbitmq"], indirect=True)
def test_a_service_under_faults_answers_correctly(fabric: list[str], tmp_path: Path) -> None:
    outcome = cauce(tmp_path, "chaos", "service", "--out", "storm", *SHORT, *fabric)
    assert outcome.code == 0, outcome.out[-4000:] + outcome.err
    faults = re.search(r"^(\d+) faults", outcome.out, re.MULTILINE)
    assert faults is not None
    assert int(faults[1]) >= 5
    assert "killed" in outcome.out
    assert "Every job ended, and every answer is correct, byte for byte" in outcome.out


def test_a_folder_without_nodes_is_reported(tmp_path: Path) -> None:
    outcome = cauce(tmp_path, "chaos", "service", "--out", "storm", "--broker", "nowhere")
    assert outcome.code == 2
    assert "no nodes in nowhere; start some with" in outcome.err
