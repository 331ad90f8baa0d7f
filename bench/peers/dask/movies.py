"""The movies queries in Dask: only the ratings are large enough; all else uses pandas."""

from __future__ import annotations

import pandas as pd

from bench.peers.columns import MOVIES
from bench.peers.dask.session import read, start
from bench.peers.pandas import movies as small
from bench.peers.pandas.session import write
from bench.peers.task import Task


def answer(task: Task) -> None:
    start(task)
    movies = small.prepared(read(task.file("movies_metadata.csv"), MOVIES, {}, whole=True).compute())
    argentine = small.argentine(movies)
    write(
        task,
        {
            "q1": lambda: small.coproductions(argentine),
            "q2": lambda: small.spenders(movies),
            "q3": lambda: small.extremes(argentine, _means(argentine, task)),
            "q4": lambda: small.actors(_credits(argentine, task)),
            "q5": lambda: small.moods(movies, task),
        },
    )


def _means(argentine: pd.DataFrame, task: Task) -> pd.Series:
    path = task.file("ratings.csv", "ratings_small.csv")
    ratings = read(path, {"id": "movieId", "rating": "rating"}, {"id": "int64", "rating": "float64"})
    return ratings[ratings["id"].isin(argentine["id"].tolist())].groupby("id")["rating"].mean().compute()


def _credits(argentine: pd.DataFrame, task: Task) -> pd.DataFrame:
    credits = read(task.file("credits.csv"), {"key": "id", "cast": "cast"}, {}, whole=True)
    keys = argentine["id"].astype("str").rename("key")
    return credits[credits["key"].isin(keys.tolist())].compute().merge(keys, on="key")
