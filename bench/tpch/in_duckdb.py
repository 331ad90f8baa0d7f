"""The queries of TPC-H in DuckDB: `python -m bench.tpch.in_duckdb DATA OUT THREADS [--views] [--memory SIZE]`.

Its tables are loaded once, or are views of the files that every query reads. With a limit of its memory, tables that
exceed it are in temporary files below OUT.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import duckdb

from bench.tpch import queries


def main(data: Path, out: Path, threads: int, views: bool = False, memory: str = "") -> None:
    out.mkdir(parents=True, exist_ok=True)
    limits = {"memory_limit": memory, "temp_directory": str(out / "temporary")} if memory else {}
    with duckdb.connect(config={"threads": threads, **limits}) as connection:
        for file in sorted(data.iterdir()):
            connection.execute(f"CREATE {'VIEW' if views else 'TABLE'} {file.stem} AS FROM '{file}'")
        for name, text in queries().items():
            connection.execute(f"COPY ({text.strip().rstrip(';')}) TO '{out / name}.parquet' (FORMAT parquet)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("threads", type=int)
    parser.add_argument("--views", action="store_true")
    parser.add_argument("--memory", metavar="SIZE", default="")
    main(**vars(parser.parse_args()))
