"""The movies queries in pandas."""

from __future__ import annotations

import pandas as pd

from bench.peers.columns import MOVIES
from bench.peers.literals import names
from bench.peers.pandas.session import chunks, read, scored, write
from bench.peers.task import Task


def answer(task: Task) -> None:
    movies = prepared(read(task.file("movies_metadata.csv"), MOVIES, {}))
    local = argentine(movies)
    write(
        task,
        {
            "q1": lambda: coproductions(local),
            "q2": lambda: spenders(movies),
            "q3": lambda: extremes(local, _means(local, task)),
            "q4": lambda: actors(_credits(local, task)),
            "q5": lambda: moods(movies, task),
        },
    )


def prepared(movies: pd.DataFrame) -> pd.DataFrame:
    """Movies that satisfy the filters, with their numbers, years and lists of countries."""
    movies = movies.dropna(subset=[name for name in MOVIES if name != "language"])
    movies["id"] = pd.to_numeric(movies["id"], errors="coerce")
    movies = movies[movies["id"].notna()]
    for money in ("budget", "revenue"):
        movies[money] = pd.to_numeric(movies[money], errors="coerce")
    movies["year"] = pd.to_datetime(movies["date"], format="%Y-%m-%d", errors="coerce").dt.year
    movies["countries"] = pd.Series(list(map(names, movies["countries"])), index=movies.index, dtype="object")
    return movies.astype({"id": "int64"})


def argentine(movies: pd.DataFrame) -> pd.DataFrame:
    return movies[_made_in(movies, "Argentina") & (movies["year"] >= 2000)]


def _made_in(movies: pd.DataFrame, country: str) -> pd.Series:
    return movies["countries"].map(lambda countries: country in countries).astype(bool)


def coproductions(argentine: pd.DataFrame) -> pd.DataFrame:
    found = argentine[_made_in(argentine, "Spain") & (argentine["year"] < 2010)]
    return found.assign(genres=found["genres"].map(lambda literal: "; ".join(names(literal))))[["title", "genres"]]


def spenders(movies: pd.DataFrame) -> pd.DataFrame:
    alone = movies[movies["countries"].str.len() == 1]
    budgets = alone["budget"].groupby(alone["countries"].str[0].rename("country")).sum().reset_index()
    return budgets.sort_values(["budget", "country"], ascending=[False, True]).head(5)


def _means(argentine: pd.DataFrame, task: Task) -> pd.Series:
    path = task.file("ratings.csv", "ratings_small.csv")
    columns, types = {"id": "movieId", "rating": "rating"}, {"id": "int64", "rating": "float64"}
    rated = pd.concat([chunk[chunk["id"].isin(argentine["id"])] for chunk in chunks(path, columns, types)])
    return rated.groupby("id")["rating"].mean()


def extremes(argentine: pd.DataFrame, means: pd.Series) -> pd.DataFrame:
    found = argentine[["id", "title"]].drop_duplicates().merge(means.dropna().reset_index(), on="id")
    best = found.sort_values(["rating", "id", "title"], ascending=[False, True, True]).head(1)
    worst = found.sort_values(["rating", "id", "title"]).head(1)
    return pd.concat([best.assign(which="best"), worst.assign(which="worst")])[["which", "id", "title", "rating"]]


def _credits(argentine: pd.DataFrame, task: Task) -> pd.DataFrame:
    credits = read(task.file("credits.csv"), {"key": "id", "cast": "cast"}, {})
    return credits.merge(argentine["id"].astype("str").rename("key"), on="key")


def actors(credits: pd.DataFrame) -> pd.DataFrame:
    casts = credits["cast"].dropna().map(names).explode().dropna()
    counts = casts.value_counts().rename_axis("actor").rename("appearances").reset_index()
    return counts.sort_values(["appearances", "actor"], ascending=[False, True]).head(10)


def moods(movies: pd.DataFrame, task: Task) -> pd.DataFrame:
    found = movies[
        (movies["language"] == "en")
        & _made_in(movies, "United States of America")
        & (movies["year"] >= 2000)
        & (movies["budget"] != 0)
        & (movies["revenue"] != 0)
    ]
    units = scored(found["overview"], task)
    mood = (units[units != 0] > 0).map({True: "positive", False: "negative"})
    ratio = (found["revenue"] / found["budget"])[units != 0]
    grouped = ratio.groupby(mood.rename("sentiment")).agg(["mean", "size"]).reset_index()
    return grouped.rename(columns={"mean": "ratio", "size": "movies"}).sort_values("sentiment")
