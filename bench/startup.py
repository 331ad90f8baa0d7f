"""Time of `cauce sql` from process start to answer, compared with Polars and DuckDB: `python -m bench.startup [--rounds
15]`.

One statement over a CSV file of 1,000 rows; aim: at most 0.15 s longer than a script with Polars. DuckDB is its command
line if there is one, else its Python module in a process of its own.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from bench.measure import Measured, rounds_of, timed
from cauce.process.starting import module_command

AIM_S = 0.15
ROWS = 1_000
QUESTION = "SELECT item, count(*) AS orders, sum(paid) AS paid FROM {table} GROUP BY item ORDER BY paid DESC"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "orders.csv").write_text(small_file())
        commands = {"cauce sql": ours(Path(folder)), "Polars": polars(Path(folder)), "DuckDB": duckdb(Path(folder))}
        results = {name: Measured() for name in commands}
        for command in commands.values():
            # Warm-up: files are read into the page cache, and modules compiled to bytecode.
            timed(command, Measured())
            timed(command, Measured())
        for _ in range(given.rounds):
            for name, command in commands.items():
                timed(command, results[name])
    for name, result in results.items():
        medians = f"median {result.median_s:.3f} s, CPU {result.median_cpu_s:.3f} s"
        sys.stdout.write(f"{name}: {medians}; rounds {rounds_of(result)}\n")
    for name in ("Polars", "DuckDB"):
        longer = results["cauce sql"].median_s - results[name].median_s
        aim = f" (aim: {AIM_S} s at most)" if name == "Polars" else ""
        sys.stdout.write(f"cauce sql takes {longer:.3f} s longer than {name}{aim}\n")


def small_file() -> str:
    items = ("pen", "ink", "pad", "cup")
    rows = [f"{number},{items[number % 4]},{number % 97}.{number % 89:02}" for number in range(ROWS)]
    return "\n".join(["id,item,paid", *rows, ""])


def ours(folder: Path) -> list[str]:
    return module_command("cauce", "sql", QUESTION.format(table="orders"), "--data", str(folder))


def polars(folder: Path) -> list[str]:
    return [
        sys.executable,
        "-c",
        "import polars as pl\n"
        f"read = pl.scan_csv({str(folder / 'orders.csv')!r}).group_by('item')\n"
        "print(read.agg(orders=pl.len(), paid=pl.col('paid').sum()).sort('paid', descending=True).collect())",
    ]


def duckdb(folder: Path) -> list[str]:
    text = QUESTION.format(table=f"'{folder / 'orders.csv'}'")
    program = shutil.which("duckdb")
    if program is not None:
        return [program, "-c", text]
    return [sys.executable, "-c", f"import duckdb; print(duckdb.sql({text!r}))"]


if __name__ == "__main__":
    main()
