"""A process may fork a prefork server only before it has used its libraries."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOAD = """
import os
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["POLARS_MAX_THREADS"] = "1"
from cauce.runner.prefork import make_ready
from cauce.process.isolation import may_fork
make_ready()
"""


def output_of(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", LOAD + code], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


@pytest.mark.skipif(sys.platform != "linux", reason="forks nurseries on Linux only")
def test_a_process_that_has_only_loaded_may_be_forked() -> None:
    assert output_of("print(may_fork())") == "True"


def test_a_process_that_has_used_polars_may_not() -> None:
    use = "import polars as pl\npl.DataFrame({'a': [1, 2], 'b': [1, 1]}).group_by('b').agg(pl.col('a').sum())\n"
    assert output_of(use + "print(may_fork())") == "False"


def test_a_process_with_another_thread_may_not() -> None:
    wait = "import threading, time\nthreading.Thread(target=time.sleep, args=(5,), daemon=True).start()\n"
    assert output_of(wait + "print(may_fork())") == "False"
