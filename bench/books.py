"""Cauce beside DuckDB on the books queries q1 to q4: `python -m bench.books --data DIR [--rounds 3]`.

DIR holds books files, such as `./cauce generate books --scale 1` makes. Both load what they need from the CSV
files and write four answers; the table gives ratios to DuckDB's time in this very run.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from pathlib import Path

from bench.measure import report, side_by_side, warm

QUERIES = "q1,q2,q3,q4"
CAUCE = [sys.executable, "-m", "cauce", "run", "books"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        ours, theirs = Path(scratch, "cauce"), Path(scratch, "duckdb")
        theirs.mkdir()
        data = str(arguments.data)
        commands = {
            "DuckDB": [sys.executable, "-m", "bench.peers.duckdb_books", data, str(theirs)],
            "Cauce": [*CAUCE, "--data", data, "--out", str(ours), "--queries", QUERIES],
        }
        warm(arguments.data)
        results = side_by_side(commands, arguments.rounds)
        disagreeing = [query for query in QUERIES.split(",") if not _agree(ours, theirs, query)]
    sys.stdout.write(report(results, "DuckDB") + "\n")
    if disagreeing:
        sys.exit(f"the answers differ: {', '.join(disagreeing)}")
    sys.stdout.write("The answers agree.\n")


def _agree(ours: Path, theirs: Path, query: str) -> bool:
    """Same rows: first column as text, numbers as numbers (lists and floats are written differently)."""
    return _essence(ours / f"{query}.csv") == _essence(theirs / f"{query}.csv")


def _essence(path: Path) -> list[tuple[str, float | None]]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    return [(row[0].strip("'\""), _number(row[-1])) for row in rows]


def _number(text: str) -> float | None:
    try:
        return round(float(text), 9)
    except ValueError:
        return None


if __name__ == "__main__":
    main()
