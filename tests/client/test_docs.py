"""Every command of docs/service.md runs, one after the other, as it stands there."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cauce.datasets import load
from tests.cli.running import COLOURS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "service.md"
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PORT = "8080"
LONGEST_S = 300


def script() -> str:
    """The blocks of the page in their order, as one script that stops at the first failure."""
    lines = ["set -euo pipefail", "trap 'kill ${serving:-} 2>/dev/null || true' EXIT"]
    for language, code in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        lines.append(code if language == "sh" else f"{sys.executable} - <<'PYTHON'\n{code}PYTHON")
    return "\n".join(lines)


def free_port() -> str:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        return str(reserved.getsockname()[1])


@pytest.mark.slow
def test_the_page_runs_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "cauce").write_text(f'#!/bin/sh\nexec {sys.executable} -m cauce "$@"\n')
    (tmp_path / "cauce").chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name not in (*COLOURS, "CAUCE_TOKEN")}
    done = subprocess.run(
        ["bash", "-c", script().replace(PORT, free_port())],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=LONGEST_S,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    assert sorted(path.name for path in (tmp_path / "answers").glob("q*")) == ["q1.csv", "q2.csv", "q3.csv", "q4.csv"]


def test_the_page_shows_every_command_of_the_client() -> None:
    shown = script()
    for command in ("submit", "jobs", "status", "watch", "results", "rejects", "why", "cancel", "serve"):
        assert f"./cauce {command}" in shown


def test_the_page_knows_every_code_of_the_service() -> None:
    """Those that stand in the gateway's source."""
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src/cauce/gateway").glob("*.py"))
    codes = set(re.findall(r'status, code = \d+, "([a-z-]+)"', source))
    codes |= set(re.findall(r'HttpError\(\s*\d+,\s*"([a-z-]+)"', source))
    page = PAGE.read_text(encoding="utf-8")
    assert codes
    assert [code for code in sorted(codes) if f"`{code}`" not in page] == []


def test_query_q1_needs_the_table_that_the_page_sends() -> None:
    assert [spec.name for spec in load("coffee").plan(["q1"]).tables] == ["transactions"]
