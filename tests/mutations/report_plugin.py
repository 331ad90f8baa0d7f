"""A pytest plugin that appends the outcome of every phase of every test to a file, one JSON object on each line."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path

import pytest

REPORT_VARIABLE = "CAUCE_MUTATIONS_REPORT"
"""The path of the file."""


def _append(node: str, phase: str, outcome: str, exception: str = "", message: str = "") -> None:
    fields = {"node": node, "phase": phase, "outcome": outcome, "exception": exception, "message": message}
    with Path(os.environ[REPORT_VARIABLE]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(fields) + "\n")


def _first_line(error: str) -> str:
    """The first line of an error; also the second one if the first has only its type."""
    lines = [*error.splitlines(), "", ""]
    return f"{lines[0]}{lines[1].strip()}" if lines[0].endswith(": ") else lines[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    exception, message = "", ""
    if call.excinfo is not None:
        exception = call.excinfo.type.__name__
        message = _first_line(call.excinfo.exconly())
    _append(item.nodeid, report.when, report.outcome, exception, message)
    return report


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        lines = [line for line in report.longreprtext.splitlines() if line.strip()]
        _append(report.nodeid, "collect", report.outcome, "CollectError", lines[-1] if lines else "")
