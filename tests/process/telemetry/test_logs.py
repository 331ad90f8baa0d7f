"""Format and level of log lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from cauce.errors import UsageError
from cauce.process.telemetry.logs import LogSettings

PROGRAM = """
import sys
from cauce.process.telemetry.logs import LogSettings, start_logs, use_logs
use_logs(LogSettings(*sys.argv[1:]))
log = start_logs("worker")
log.debug("quiet", job="a")
log.info("told", job="b")
try:
    1 / 0
except ZeroDivisionError:
    log.exception("broken")
"""


def logged(format: str, level: str = "info") -> list[str]:
    command = [sys.executable, "-c", PROGRAM, format, level]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr.splitlines()


def test_json_lines_have_the_documented_fields() -> None:
    told, broken = map(json.loads, logged("json"))
    assert told.keys() == {"time", "level", "event", "role", "process", "job"}
    assert (told["level"], told["event"], told["role"], told["job"]) == ("info", "told", "worker", "b")
    assert told["process"] != os.getpid()
    assert broken["level"] == "error"
    assert "ZeroDivisionError" in broken["exception"]


def test_lines_are_json_where_there_is_no_terminal() -> None:
    assert [json.loads(line)["event"] for line in logged("auto")] == ["told", "broken"]


def test_text_has_no_colours_where_there_is_no_terminal() -> None:
    lines = logged("text")
    assert "told" in lines[0]
    assert "job=b" in lines[0]
    assert "\x1b" not in "".join(lines)


def test_level_is_the_lowest_that_is_logged() -> None:
    assert [json.loads(line)["event"] for line in logged("json", "debug")] == ["quiet", "told", "broken"]
    assert [json.loads(line)["event"] for line in logged("json", "error")] == ["broken"]


@pytest.mark.parametrize("settings", [LogSettings(format="xml"), LogSettings(level="loud")])
def test_unknown_setting_is_refused(settings: LogSettings) -> None:
    with pytest.raises(UsageError, match="expected one of"):
        settings.check()
