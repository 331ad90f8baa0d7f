"""The books queries in Dask: the books are small and read with pandas; each reading of the reviews is one block."""

from __future__ import annotations

import dask
import pandas as pd

from bench.peers.dask.session import read, start
from bench.peers.pandas import books as small
from bench.peers.pandas.session import scored, write
from bench.peers.task import Task


def answer(task: Task) -> None:
    start(task)
    books = small.read_books(task)
    nineties, fiction = small.nineties(books), small.fiction(books)
    counts, sums = _reviews(task, nineties, fiction)
    write(
        task,
        {
            "q1": lambda: small.distributed(books),
            "q2": lambda: small.long_lived(books),
            "q3": lambda: small.popular(counts["size"], nineties),
            "q4": lambda: small.best_rated(counts),
            "q5": lambda: small.best_liked(sums),
        },
    )


def _reviews(task: Task, nineties: pd.DataFrame, fiction: pd.Series) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Number and mean of scores for titles of the 1990s; number and sum of sentiments for fiction."""
    path = task.file("Books_rating.csv")
    columns = {"title": "Title", "score": "review/score", "text": "review/text"}
    reviews = read(path, columns, {"score": "float64"}, whole=True)
    asked = {}
    if task.asks("q3", "q4"):
        rated = reviews[reviews["title"].isin(nineties["title"].tolist())]
        asked["rated"] = rated.groupby("title")["score"].agg(["size", "mean"])
    if task.asks("q5"):
        texts = reviews[reviews["title"].isin(fiction.tolist()) & reviews["text"].notnull()]
        meta = {"title": "str", "units": "int64"}
        asked["texts"] = texts.map_partitions(_scored, task, meta=meta).groupby("title")["units"].agg(["sum", "size"])
    found = dict(zip(asked, dask.compute(*asked.values()), strict=True))
    return found.get("rated", pd.DataFrame()), found.get("texts", pd.DataFrame())


def _scored(texts: pd.DataFrame, task: Task) -> pd.DataFrame:
    return pd.DataFrame({"title": texts["title"], "units": scored(texts["text"], task).astype("int64")})
