"""Peak memory of all processes of a run, for data of two sizes: `python -m bench.memory --data DIR --larger DIR`.

Both folders hold files of one dataset; those of the second are several times as large. The peaks must be similar.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from bench.measure import Measured, side_by_side


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="books")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--larger", type=Path, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        results: dict[str, Measured] = {}
        for name, data in (("smaller", arguments.data), ("larger", arguments.larger)):
            command = [sys.executable, "-m", "cauce", "run", arguments.dataset, "--data", str(data)]
            results |= side_by_side({name: [*command, "--out", str(Path(scratch, name))]}, 1)
    for name, data in (("smaller", arguments.data), ("larger", arguments.larger)):
        size = sum(path.stat().st_size for path in data.rglob("*") if path.is_file()) / 1e6
        sys.stdout.write(f"{name}: {size:,.0f} MB of data, peak {results[name].peak_mb:,.0f} MB\n")
    ratio = results["larger"].peak_mb / results["smaller"].peak_mb
    sys.stdout.write(f"ratio of the peaks: {ratio:.2f}\n")


if __name__ == "__main__":
    main()
