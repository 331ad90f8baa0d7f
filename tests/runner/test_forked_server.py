"""A process may fork a prefork server only before it has used its libraries."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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


@pytest.mark.skipif(sys.platform != "linux", reason="forks nurseries on Linux only")
def test_a_process_that_has_inferred_types_in_children_may_be_forked(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / f"{name}.csv").write_text("n,day\n1,2024-02-29\n")
    infer = f"""
from pathlib import Path
from cauce.runner.sql_source import source_of
text, data = "SELECT a.n, b.day FROM a, b, c", Path({str(tmp_path)!r})
isolated = source_of(text, data, isolate=True)
print(may_fork(), isolated == source_of(text, data), may_fork())
"""
    assert output_of(infer) == "True True False"


def test_the_commands_that_fork_load_polars_only_after_its_threads_are_limited() -> None:
    code = "import sys, cauce.cli.run, cauce.cli.sql\nprint('polars' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "False False"
