"""The queries of ClickBench in DuckDB: `python -m bench.clickbench.in_duckdb DATA OUT THREADS [--views]`.

Its table is loaded once, or is a view of the file that every query reads. Rows that tie are ordered by all columns, so
that answers can be compared.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

from bench.clickbench import COLUMNS, queries, with_total_order


def main(data: Path, out: Path, threads: int, views: bool) -> None:
    out.mkdir(parents=True, exist_ok=True)
    kind = "VIEW" if views else "TABLE"
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in COLUMNS.items())
    with duckdb.connect(config={"threads": threads}) as connection:
        connection.execute(f"CREATE {kind} hits AS FROM read_csv('{data / 'hits.csv'}', columns={{{columns}}})")
        for number, text in enumerate(queries(), 1):
            width = len(connection.execute(f"DESCRIBE {text}").fetchall())
            ordered = with_total_order(text, width)
            connection.execute(f"COPY ({ordered}) TO '{out}/q{number}.parquet' (FORMAT parquet)")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), "--views" in sys.argv[4:])
