"""The queries of TPC-H in DuckDB: `python -m bench.tpch.in_duckdb DATA OUT THREADS [--views]`.

Its tables are loaded once, or are views of the files that every query reads.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

from bench.tpch import queries


def main(data: Path, out: Path, threads: int, views: bool = False) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(config={"threads": threads}) as connection:
        for file in sorted(data.iterdir()):
            connection.execute(f"CREATE {'VIEW' if views else 'TABLE'} {file.stem} AS FROM '{file}'")
        for name, text in queries().items():
            connection.execute(f"COPY ({text.strip().rstrip(';')}) TO '{out / name}.parquet' (FORMAT parquet)")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), "--views" in sys.argv[4:])
