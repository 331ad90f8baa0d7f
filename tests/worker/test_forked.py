"""A process may be forked into a nursery only before its libraries have been used."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOAD = """
import os
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["POLARS_MAX_THREADS"] = "1"
from cauce.worker.nursery import make_ready
from cauce.worker.forked import may_fork
make_ready()
"""


def says(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", LOAD + code], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


@pytest.mark.skipif(sys.platform != "linux", reason="forks nurseries on Linux only")
def test_a_process_that_has_only_loaded_may_be_forked() -> None:
    assert says("print(may_fork())") == "True"


def test_one_that_has_used_polars_may_not() -> None:
    use = "import polars as pl\npl.DataFrame({'a': [1, 2], 'b': [1, 1]}).group_by('b').agg(pl.col('a').sum())\n"
    assert says(use + "print(may_fork())") == "False"


def test_one_with_another_thread_may_not() -> None:
    wait = "import threading, time\nthreading.Thread(target=time.sleep, args=(5,), daemon=True).start()\n"
    assert says(wait + "print(may_fork())") == "False"
