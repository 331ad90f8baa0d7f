"""Reads a file with a peer, and writes what it found: `python -m bench.reading.reader PROGRAM FILE OUT THREADS`.

PROGRAM is `duckdb` or `polars`, with the defaults of the program, or with `-lenient`, with the options that it has for
damaged files.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from bench.reading import INTACT


def in_duckdb(file: Path, threads: int, lenient: bool) -> dict[str, object]:
    import duckdb

    options = ", strict_mode=false, store_rejects=true" if lenient else ""
    text = f"SELECT count(*), sum(amount) FROM read_csv('{file}'{options}) WHERE status = '{INTACT}'"
    with duckdb.connect(config={"threads": threads}) as connection:
        rows, amount = connection.execute(text).fetchall()[0]
        reported = 0
        if lenient:
            reported = connection.execute("SELECT count(DISTINCT line) FROM reject_errors").fetchall()[0][0]
    return {"rows": rows, "amount": float(amount or 0), "reported": reported}


def in_polars(file: Path, threads: int, lenient: bool) -> dict[str, object]:
    # Before the import, which reads it.
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    import polars as pl

    if lenient:
        frame = pl.scan_csv(file, ignore_errors=True, truncate_ragged_lines=True, encoding="utf8-lossy")
    else:
        frame = pl.scan_csv(file)
    intact = frame.filter(pl.col("status") == INTACT)
    rows, amount = intact.select(pl.len(), pl.col("amount").sum()).collect().row(0)
    return {"rows": rows, "amount": float(amount), "reported": 0}


def main(program: str, file: Path, out: Path, threads: int) -> None:
    name, _, way = program.partition("-")
    found = {"duckdb": in_duckdb, "polars": in_polars}[name](file, threads, way == "lenient")
    out.mkdir(parents=True, exist_ok=True)
    (out / "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
