"""The queries of TPC-H in Polars, all in one `collect_all`: `python -m bench.tpch.in_polars DATA OUT THREADS`.

Its numbers are floats: Polars infers no decimals from CSV, and those of Parquet are converted.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polars import LazyFrame


def main(data: Path, out: Path, threads: int) -> None:
    # Before the import, which reads it.
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    import polars as pl

    from bench.tpch.polars_queries import QUERIES, Tables

    out.mkdir(parents=True, exist_ok=True)
    tables = Tables(*[_table(data / name) for name in Tables._fields])
    answers = pl.collect_all([query(tables) for query in QUERIES], engine="in-memory")
    for number, frame in enumerate(answers, 1):
        frame.write_parquet(out / f"q{number:02}.parquet")


def _table(stem: Path) -> LazyFrame:
    import polars as pl

    file = stem.with_suffix(".parquet")
    if file.is_file():
        return pl.scan_parquet(file).with_columns(pl.selectors.decimal().cast(pl.Float64))
    return pl.scan_csv(stem.with_suffix(".csv"), try_parse_dates=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
