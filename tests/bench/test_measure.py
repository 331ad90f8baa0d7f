"""Time and memory of commands, with all the processes that they start."""

from __future__ import annotations

import sys

import pytest

from bench.measure import CommandFailed, Measured, timed, watched

SPIN = "import time\nwhile time.process_time() < 0.3: pass"
ORPHAN = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SPIN!r}])"


def test_processor_time_of_a_process_that_outlives_its_parent_is_counted() -> None:
    measured = Measured()
    timed([sys.executable, "-c", ORPHAN], measured)
    assert measured.cpu_s[0] >= 0.3


def test_memory_is_that_of_all_processes() -> None:
    held = "held = bytearray(40_000_000); import time; time.sleep(0.4)"
    measured = Measured()
    watched(
        [sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {held!r}])"], measured
    )
    assert measured.peak_mb >= 40


def test_the_error_of_a_failed_command_has_its_output() -> None:
    with pytest.raises(CommandFailed, match="out of tea"):
        timed([sys.executable, "-c", "import sys; sys.exit('out of tea')"], Measured())
