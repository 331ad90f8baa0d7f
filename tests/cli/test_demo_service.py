"""`cauce demo --serve`: clients get the right answers while processes are killed, until it is told to stop."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ENOUGH_S = 180.0
DEMO = ["demo", "--serve", "--port", "0", "--scale", "0.001", "--kill-every", "1"]


@pytest.mark.slow
def test_the_demo_serves_and_survives_its_own_kills(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "cauce", *DEMO, "--out", str(tmp_path / "demo")],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        cwd=tmp_path,
    )
    said: list[str] = []
    assert process.stdout is not None
    due = time.monotonic() + ENOUGH_S
    try:
        for line in process.stdout:
            said.append(line)
            kills = sum("killed" in each for each in said)
            answered = sum("as it should be" in each for each in said)
            if (kills >= 3 and answered >= 4) or time.monotonic() > due:
                break
        process.send_signal(signal.SIGTERM)
        said += process.stdout.readlines()
        assert process.wait(60) == 0, "".join(said)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert any(re.match(r"Open http://127\.0\.0\.1:\d+/ in a browser", each) for each in said)
    assert re.match(r"\d+ answers under \d+ kills: all as they should be", said[-1])
