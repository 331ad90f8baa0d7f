"""Compares random queries with DuckDB and reduces a difference to a small one.

python -m tests.sql_frontend.fuzz 1000 [first seed]
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb

from cauce.errors import CauceError
from tests.sql_frontend.random_queries import Database, Queries, random_database
from tests.sql_frontend.runs import Both, _key, alike

PER_DATABASE = 10

LARGE = 100_000
"""Tables of a few rows count as large ones in half of the databases: these are joined by partitions, and scanned with
the keys of smaller ones."""


def difference(database: Database, text: str) -> str | None:
    """How the answer of a query differs from DuckDB's; None if it is equal, or if DuckDB has an error too."""
    with tempfile.TemporaryDirectory() as folder:
        both = Both(Path(folder), database.schema, database.rows, row_weight=database.row_weight)
        try:
            there = both.there(text)
        except duckdb.Error:
            return None
        try:
            here = both.here(text)
        except CauceError as problem:
            return f"{type(problem).__name__}: {problem}"
    here, there = sorted(here, key=_key), sorted(there, key=_key)
    if len(here) != len(there):
        return f"{len(here)} rows instead of {len(there)}: {here[:3]} and {there[:3]}"
    for one, other in zip(here, there, strict=True):
        if not all(map(alike, one, other)):
            return f"{one} instead of {other}"
    return None


def differences(seed: int) -> list[str]:
    """The queries of one seed that differ, each with the smallest tables found."""
    choose = random.Random(seed)
    database = replace(random_database(choose), row_weight=LARGE if seed % 2 else 1)
    queries = Queries(choose, database)
    texts = [queries.query() for _ in range(PER_DATABASE)]
    return [report(seed, database, text) for text in _suspects(database, texts)]


def _suspects(database: Database, texts: list[str]) -> list[str]:
    """Answers all queries in one job; only if something differs, each alone."""
    with tempfile.TemporaryDirectory() as folder:
        both = Both(Path(folder), database.schema, database.rows, row_weight=database.row_weight)
        expected = {}
        for number, text in enumerate(texts):
            try:
                expected[f"q{number}"] = (text, both.there(text))
            except duckdb.Error:
                continue
        if not expected:
            return []
        script = ";\n".join(f"-- name: {name}\n{text}" for name, (text, _) in expected.items())
        try:
            frames = both.frames(script)
        except CauceError:
            return [text for text, _ in expected.values() if difference(database, text)]
    found = []
    for name, (text, there) in expected.items():
        rows, wanted = sorted(map(list, frames[name].rows()), key=_key), sorted(there, key=_key)
        if len(rows) != len(wanted) or not all(all(map(alike, *pair)) for pair in zip(rows, wanted, strict=True)):
            found.append(text)
    return found


def report(seed: int, database: Database, text: str) -> str:
    small = reduced(database, lambda each: difference(each, text) is not None)
    tables = "\n".join(f"  {name}{list(small.schema[name].items())}: {rows}" for name, rows in small.rows.items())
    return f"seed {seed}\n  {text}\n  {difference(small, text)}\n{tables}"


def reduced(database: Database, differs: Callable[[Database], bool]) -> Database:
    """The database with as few rows as still show the difference."""
    rows = {name: list(each) for name, each in database.rows.items()}
    for name in rows:
        for row in list(rows[name]):
            fewer = {**rows, name: [each for each in rows[name] if each is not row]}
            if differs(replace(database, rows=fewer)):
                rows = fewer
    return replace(database, rows=rows)


def main() -> None:
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    found = 0
    for number, seed in enumerate(range(first, first + -(-count // PER_DATABASE)), 1):
        for each in differences(seed):
            found += 1
            sys.stdout.write(f"{each}\n\n")
        if number % 20 == 0:
            sys.stdout.write(f"{number * PER_DATABASE:,} queries, {found} differ\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
