"""The files fabric works with few descriptors: its caches shrink and are cleared at the limit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SETTING = """
import os, resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
from cauce.fabric.names import Log
from cauce.fabric.contract import START
from cauce.fabric.files.fabric import FilesFabric
from cauce.fabric.records import Kind, record
fabric = FilesFabric(Path(sys.argv[1]))
fabric.create_job("j", b"{}")
for log in range(100):
    fabric.append("j", Log(f"log-{log}"), [record(Kind.DATA, 1, log, b"x")])
kept = len(os.listdir("/proc/self/fd"))
"""

MANY_LOGS = """
assert kept < 64, kept
for log in range(100):
    assert len(fabric.read("j", Log(f"log-{log}"), START, 1000).records) == 1
"""

FULL = """
taken = []
try:
    while True:
        taken.append(os.dup(0))
except OSError:
    pass
fabric.enqueue("j", "q", ["t"])
fabric.append("j", Log("another"), [record(Kind.DATA, 1, 0, b"x")])
assert fabric.manifest("j") == b"{}"
assert fabric.acquire("j", "q") is not None
assert len(fabric.read("j", Log("another"), START, 1000).records) == 1
assert fabric.jobs() == ["j"]
"""


def run(code: str, root: Path) -> None:
    """Runs in a separate process with a low limit."""
    done = subprocess.run([sys.executable, "-c", SETTING + code, str(root)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_cache_shrinks_with_the_limit_of_open_files(tmp_path: Path) -> None:
    run(MANY_LOGS, tmp_path)


def test_cached_descriptors_are_closed_when_the_limit_is_reached(tmp_path: Path) -> None:
    run(FULL, tmp_path)
