"""Answers queries with one peer: `python -m bench.peers PEER DATASET --data DIR --out DIR --queries q1,q2`."""

from __future__ import annotations

import argparse
import importlib
import os
from pathlib import Path

from bench.peers import PEERS
from bench.peers.scoring import Library, kernel
from bench.peers.task import Task


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("dataset", choices=("books", "movies", "flights", "coffee"))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--queries", required=True)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--library-every", type=int, help="score every n-th text, with vaderSentiment")
    parser.add_argument("--notes", type=Path, help="where vaderSentiment's times go")
    parser.add_argument("--loaded", action="store_true", help="tables first, then the queries")
    given = parser.parse_args()
    # Set before the libraries are imported, which read it.
    os.environ["POLARS_MAX_THREADS"] = str(given.threads)
    given.out.mkdir(parents=True, exist_ok=True)
    scorer = Library(given.library_every, given.notes) if given.library_every else kernel
    task = Task(given.data, given.out, tuple(given.queries.split(",")), scorer, given.threads, given.loaded)
    importlib.import_module(f"bench.peers.{given.peer}.{given.dataset}").answer(task)


if __name__ == "__main__":
    main()
