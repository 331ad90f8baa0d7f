"""A process raises its own limit of open files as far as the kernel allows, and keeps memory that it has freed."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import resource
from cauce.process.limits import raise_file_limit
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
print(raise_file_limit(), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def limits_after(soft: int, hard: int) -> list[int]:
    """Runs in a separate process: a lowered hard limit cannot be raised again."""
    code = CODE.format(soft=soft, hard=hard)
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return [int(word) for word in done.stdout.split()]


def test_the_soft_limit_rises_to_the_hard_limit() -> None:
    assert limits_after(64, 512) == [512, 512, 512]


def test_a_limit_that_is_high_enough_is_not_changed() -> None:
    assert limits_after(512, 512) == [512, 512, 512]


def test_a_process_limited_to_one_thread_can_set_its_title() -> None:
    code = (
        "from cauce.process.limits import one_thread_each; one_thread_each(); import os, setproctitle\n"
        "setproctitle.setproctitle('a new title'); print(open('/proc/self/cmdline').read())\n"
        "print(os.environ['POLARS_MAX_THREADS'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("a new title")
    assert done.stdout.endswith("\n1\n")


KEEP = """
import resource
from pathlib import Path
import numpy as np
from cauce.process.limits import keep_memory
def held():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
keep_memory({kept})
before = held()
np.ones({size}, np.uint8)
print(held() - before)
"""


def kept_after(kept: int, size: int) -> int:
    """The memory that a process holds after it has freed so much."""
    code = KEEP.format(kept=kept, size=size)
    return int(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def test_freed_memory_is_kept() -> None:
    assert kept_after(kept=32 << 20, size=24 << 20) > 23 << 20


def test_freed_memory_beyond_the_limit_is_not_kept() -> None:
    assert kept_after(kept=8 << 20, size=24 << 20) < 12 << 20
