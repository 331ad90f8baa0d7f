"""The logs of all processes of a real service, in both formats."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.service.running import Running

FIELDS = {"time", "level", "event", "role", "process"}


@pytest.mark.slow
@pytest.mark.parametrize("format", ["json", "text"])
def test_every_process_logs_in_the_format(format: str, tmp_path: Path) -> None:
    options = ("--workers", "1", "--gateways", "1", "--doctors", "1", "--log-format", format, "--log-level", "debug")
    with Running(tmp_path, "serve", *options) as service:
        service.get("/readyz")
    logs = {path.stem: path.read_text().splitlines() for path in (tmp_path / "service/log").glob("*.log")}
    lines = [line for each in logs.values() for line in each]
    assert any('"GET"' in line or "method=GET" in line for line in logs["gateway-1"])
    assert logs["doctor-1"]
    if format == "json":
        decoded = [json.loads(line) for line in lines]
        assert [line for line in decoded if not line.keys() >= FIELDS] == []
        assert {line["role"] for line in decoded} >= {"gateway", "doctor"}
    else:
        assert [line for line in lines if line.startswith("{")] == []
