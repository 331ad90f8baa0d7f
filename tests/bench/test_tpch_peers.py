"""The queries of TPC-H in Polars answer as those in DuckDB."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.tpch.answers import differences
from bench.tpch.in_duckdb import main as in_duckdb
from bench.tpch.suite import generated


def test_the_queries_of_all_peers_agree(tmp_path: Path) -> None:
    data = generated(tmp_path, 0.01)
    # In a process of its own: it sets the number of threads before Polars is loaded.
    subprocess.run([sys.executable, "-m", "bench.tpch.in_polars", str(data), str(tmp_path / "polars"), "1"], check=True)
    in_duckdb(data, tmp_path / "duckdb", 1)
    assert differences(tmp_path / "polars", tmp_path / "duckdb") == []
