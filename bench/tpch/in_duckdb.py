"""The queries of TPC-H in DuckDB, whose tables are loaded once: `python -m bench.tpch.in_duckdb DATA OUT THREADS`."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

from bench.tpch import queries


def main(data: Path, out: Path, threads: int) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(config={"threads": threads}) as connection:
        for file in sorted(data.glob("*.csv")):
            connection.execute(f"CREATE TABLE {file.stem} AS FROM read_csv('{file}')")
        for name, text in queries().items():
            connection.execute(f"COPY ({text.strip().rstrip(';')}) TO '{out / name}.parquet' (FORMAT parquet)")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
