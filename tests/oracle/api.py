"""The whole oracle as one function: a data folder in, the bytes of every result file out."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import duckdb

from tests.oracle import books, coffee, flights, movies
from tests.oracle.render import csv_bytes
from tests.oracle.sentiment import scorer
from tests.oracle.tables import Reject, load

DATASETS = {
    "books": books.DATASET,
    "movies": movies.DATASET,
    "flights": flights.DATASET,
    "coffee": coffee.DATASET,
}


def answer(
    dataset: str, data: Path, queries: Collection[str] | None = None, sentiment: str = "vader"
) -> dict[str, bytes]:
    """The CSV of each chosen query (all of the dataset's by default) under its id, as in ``q1``.

    ``rejects`` is there too if anything could not be read. Only the tables that the queries need are opened;
    one that is missing raises ``FileNotFoundError``.
    """
    asked = DATASETS[dataset]
    chosen = sorted(asked.queries if queries is None else set(queries))
    score = scorer(sentiment)
    rejects: list[Reject] = []
    results: dict[str, bytes] = {}
    with duckdb.connect(config={"threads": 1, "default_null_order": "nulls_last"}) as con:
        # DuckDB's own lower() maps each character alone; "İ" and a final sigma need the full mapping.
        con.create_function("unicode_lower", str.lower, ["VARCHAR"], "VARCHAR")
        for table in asked.tables:
            rejects += load(con, table, data, chosen)
        for name in chosen:
            query = asked.queries[name]
            results[name] = csv_bytes(query.columns, query.answer(con, score))
    if rejects:
        results["rejects"] = csv_bytes(Reject._fields, sorted(rejects))
    return results
