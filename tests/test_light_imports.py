"""Libraries that are loaded in part, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys


def run(code: str) -> str:
    program = f"from cauce.light_imports import load_less\nload_less()\n{code}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_numpy_works_without_its_documentation() -> None:
    code = "import numpy as np; print(np.arange(4).reshape(2, 2).sum(axis=1), np.array([1]).sum.__doc__)"
    assert run(code) == "[1 5] None"


def test_the_documentation_of_numpy_can_still_be_loaded() -> None:
    code = (
        "import sys, numpy as np\n"
        "assert sys.modules['numpy._core._add_newdocs'].add_newdoc\n"
        "print('Sum' in (np.array([1]).sum.__doc__ or '') or np.array([1]).sum.__doc__[:40])"
    )
    assert run(code)


def test_the_metadata_of_packages_is_loaded_when_it_is_used() -> None:
    code = (
        "import sys, polars, sqlglot.dialects.duckdb\n"
        "assert 'email' not in sys.modules, 'loaded too early'\n"
        "import importlib.metadata\n"
        "assert importlib.metadata.version('polars') == polars.__version__\n"
        "from importlib.metadata import PackageNotFoundError, version\n"
        "try: version('no-such-package')\n"
        "except PackageNotFoundError: print('raised')"
    )
    assert run(code) == "raised"


def test_extensions_of_sqlglot_are_looked_up_in_the_metadata() -> None:
    code = "from sqlglot.dialects.dialect import entry_points; print(type(entry_points(group='none')).__name__)"
    assert run(code) == "EntryPoints"


def test_openblas_starts_no_threads() -> None:
    assert run("import threading, numpy, os; print(len(os.listdir('/proc/self/task')))") == "1"
