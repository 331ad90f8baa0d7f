"""The cost of the journal in a run without crashes: `python -m bench.overhead [--data DIR] [--rounds 5]`.

The same run with and without it, side by side. DIR holds books files; without it some are made. Aim: 1.10 at most.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from bench.commands import BOOKS_WITHOUT_TEXTS, CAUCE
from bench.measure import Measured, report, side_by_side, warm
from cauce.lab.chaos.run import same_answers
from cauce.lab.generators import generate

AIM = 1.10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--scale", type=float, default=0.3)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        data = arguments.data
        if data is None:
            data = Path(scratch, "data")
            generate("books", data, scale=arguments.scale, seed=1)
        results = _compare(data, Path(scratch), arguments.rounds)
    sys.stdout.write(report(results, "--no-journal") + "\n")
    ratio = results["--journal"].median_s / results["--no-journal"].median_s
    sys.stdout.write(f"with the journal: {ratio:.2f} of the time without (aim: {AIM:.2f} at most)\n")


def _compare(data: Path, scratch: Path, rounds: int) -> dict[str, Measured]:
    warm(data)
    outs = {flag: scratch / flag.removeprefix("--") for flag in ("--no-journal", "--journal")}
    commands = {
        flag: [*CAUCE, "books", "--data", str(data), "--out", str(out), "--queries", BOOKS_WITHOUT_TEXTS, flag]
        for flag, out in outs.items()
    }
    results = side_by_side(commands, rounds)
    different = same_answers(*outs.values())
    if different:
        sys.exit(f"the answers differ: {', '.join(different)}")
    return results


if __name__ == "__main__":
    main()
