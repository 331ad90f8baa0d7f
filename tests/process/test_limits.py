"""A process raises its own limit of open files as far as the kernel allows."""

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
