"""Requests made from the service's own description, good ones and bad ones: every answer is as described."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.service.running import Running

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "unsupported_method",
)

OPTIONS = [
    "--no-color",
    "--seed",
    "1",
    "--request-timeout",
    "30",
    "--exclude-path-regex",
    "events|live",
]
"""A stream of events has no end while its job has none."""


@pytest.mark.slow
@pytest.mark.parametrize("examples", [6, pytest.param(150, marks=pytest.mark.soak)])
def test_generated_requests_get_the_described_responses(tmp_path: Path, examples: int) -> None:
    pytest.importorskip("schemathesis")
    command = Path(sys.executable).with_name("st")
    with Running(tmp_path, "serve", "--workers", "1", "--gateways", "1") as service:
        done = subprocess.run(
            [
                str(command),
                "run",
                f"{service.url}/openapi.json",
                "--checks",
                ",".join(CHECKS),
                *OPTIONS,
                f"--max-examples={examples}",
            ],
            cwd=tmp_path,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stdout[-5000:]
    assert service.process.returncode == 0
    assert not service.events("internal error")
