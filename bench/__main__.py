"""`./cauce bench`: Cauce compared with DuckDB, Polars, pandas, Dask and PySpark; scaling; overhead on little data."""

from __future__ import annotations

import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.options import parsed
from cauce.errors import CauceError


def main(arguments: Sequence[str]) -> int:
    """Returns the exit code: 1 if answers differ, if Cauce failed, or if no requested kill happened."""
    options = parsed(arguments, __doc__ or "")
    # Imported late: `parsed` has checked that their packages are installed.
    from bench.modes import MODES

    _compile_kernels()
    # As for Ctrl-C: the running command must end with this process.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="cauce-bench-") as scratch:
        problems = MODES[options.mode](options, Path(scratch))
    for problem in problems:
        sys.stderr.write(f"problem: {problem}\n")
    return 1 if problems else 0


def _compile_kernels() -> None:
    """Compiles and links the kernels of a clone if its sources have changed since it was set up: each worker of each
    run would load them one by one, which takes longer than a part."""
    from cauce.scan.native import bundle, linked
    from cauce.scan.warm_up import compile_kernels

    if not (bundle.installed.is_valid() or linked.own().is_valid()):
        compile_kernels()


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except CauceError as problem:
        sys.exit(f"error [{problem.code}] {problem}")
