"""The queries of TPC-H in Polars, all in one `collect_all`: `python -m bench.tpch.in_polars DATA OUT THREADS`.

Its numbers are floats: Polars infers no decimals.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main(data: Path, out: Path, threads: int) -> None:
    # Before the import, which reads it.
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    import polars as pl

    from bench.tpch.polars_queries import QUERIES, Tables

    out.mkdir(parents=True, exist_ok=True)
    tables = Tables(*[pl.scan_csv(data / f"{name}.csv", try_parse_dates=True) for name in Tables._fields])
    answers = pl.collect_all([query(tables) for query in QUERIES], engine="in-memory")
    for number, frame in enumerate(answers, 1):
        frame.write_parquet(out / f"q{number:02}.parquet")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
