"""A log line that cannot be written is lost, and never ends the process that writes it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

LOGGING = """
import os, sys
from cauce.process.telemetry.logs import start_logs

log = start_logs("doctor")
{before}
log.info("one")
sys.stderr.write("two\\n")
sys.stderr.flush()
{after}
log.info("three")
print("alive")
"""


def logged(tmp_path: Path, before: str, after: str) -> tuple[str, str]:
    """Runs a process that logs while its standard error fails; returns its output and its log."""
    path = tmp_path / "log"
    with path.open("wb") as log:
        code = LOGGING.format(before=before, after=after)
        done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=log, check=False, text=True)
    assert done.returncode == 0, path.read_text()
    return done.stdout, path.read_text()


def test_lines_lost_on_a_full_disk_are_counted_and_reported(tmp_path: Path) -> None:
    fill = "kept = os.dup(2); os.dup2(os.open('/dev/full', os.O_WRONLY), 2)"
    printed, log = logged(tmp_path, fill, "os.dup2(kept, 2)")
    assert printed == "alive\n"
    lost, three = map(json.loads, log.splitlines())
    assert (lost["event"], lost["lines"], lost["cause"]) == ("log lines lost", 2, "No space left on device")
    assert three["event"] == "three"


def test_a_closed_standard_error_costs_log_lines_only(tmp_path: Path) -> None:
    assert logged(tmp_path, "os.close(2)", "")[0] == "alive\n"


def test_a_closed_pipe_costs_log_lines_only(tmp_path: Path) -> None:
    leave = "reading, writing = os.pipe(); os.close(reading); os.dup2(writing, 2)"
    assert logged(tmp_path, leave, "")[0] == "alive\n"


def test_a_process_without_standard_error_keeps_its_number_free_of_files(tmp_path: Path) -> None:
    code = LOGGING.format(before=f"held = open({str(tmp_path / 'data')!r}, 'wb')", after="")
    command = [sys.executable, "-c", code]
    shell = subprocess.run(["sh", "-c", 'exec "$@" 2>&-', "sh", *command], capture_output=True, check=True, text=True)
    assert shell.stdout == "alive\n"
    assert (tmp_path / "data").read_bytes() == b""
