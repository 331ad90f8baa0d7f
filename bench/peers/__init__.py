"""The same queries in other engines: a folder for each peer, with a module for each dataset.

A module's `answer(task)` writes `<query>.csv` for each query asked, as a good user of that library would: needed
columns only, read once where the library can share them. A peer's packages are imported only when it runs.
"""

from __future__ import annotations

PEERS = {"duckdb": "DuckDB", "polars": "Polars", "pandas": "pandas", "dask": "Dask", "pyspark": "PySpark"}
"""Each peer's package with the name that reports show."""
