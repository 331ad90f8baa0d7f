"""The movies queries in Polars."""

from __future__ import annotations

import polars as pl

from bench.peers.polars.session import names, scan, write
from bench.peers.task import Task

NEEDED = ["id", "title", "genres", "date", "overview", "countries", "languages", "budget", "revenue"]


def answer(task: Task) -> None:
    movies = (
        scan(
            task.file("movies_metadata.csv"),
            id="id",
            title="title",
            genres="genres",
            date="release_date",
            overview="overview",
            countries="production_countries",
            languages="spoken_languages",
            language="original_language",
            budget="budget",
            revenue="revenue",
        )
        .drop_nulls(NEEDED)
        .with_columns(
            pl.col("id").cast(pl.Int64, strict=False),
            pl.col("budget", "revenue").cast(pl.Float64, strict=False),
            countries=names("countries"),
            year=pl.col("date").str.to_date("%Y-%m-%d", strict=False).dt.year(),
        )
        .drop_nulls("id")
    )
    argentine = movies.filter(pl.col("countries").list.contains("Argentina"), pl.col("year") >= 2000)
    write(
        task,
        {
            "q1": argentine.filter(pl.col("countries").list.contains("Spain"), pl.col("year") < 2010).select(
                "title", genres=names("genres").list.join("; ")
            ),
            "q2": movies.filter(pl.col("countries").list.len() == 1)
            .group_by(country=pl.col("countries").list.first())
            .agg(pl.col("budget").sum())
            .sort("budget", "country", descending=[True, False])
            .head(5),
            "q3": _extremes(argentine, task),
            "q4": _actors(argentine, task),
            "q5": _moods(movies, task),
        },
    )


def _extremes(argentine: pl.LazyFrame, task: Task) -> pl.LazyFrame:
    # Compared as text, so that only the needed ratings are parsed.
    candidates = argentine.select("id", "title", key=pl.col("id").cast(pl.String)).unique()
    rated = (
        scan(task.file("ratings.csv", "ratings_small.csv"), key="movieId", rating="rating")
        .drop_nulls()
        .join(candidates, on="key", how="semi")
        .group_by("key")
        .agg(rating=pl.col("rating").cast(pl.Float64).mean())
        .join(candidates, on="key")
        .select("id", "title", "rating")
    )
    best = rated.sort("rating", "id", "title", descending=[True, False, False]).head(1)
    worst = rated.sort("rating", "id", "title").head(1)
    return pl.concat(
        [part.select(pl.lit(which).alias("which"), pl.all()) for which, part in (("best", best), ("worst", worst))]
    )


def _actors(argentine: pl.LazyFrame, task: Task) -> pl.LazyFrame:
    return (
        scan(task.file("credits.csv"), key="id", cast="cast")
        .join(argentine.select(key=pl.col("id").cast(pl.String)), on="key")
        .select(actor=names("cast"))
        .explode("actor", empty_as_null=False)
        .group_by("actor")
        .agg(appearances=pl.len())
        .sort("appearances", "actor", descending=[True, False])
        .head(10)
    )


def _moods(movies: pl.LazyFrame, task: Task) -> pl.LazyFrame:
    units = pl.col("overview").map_batches(task.scorer, return_dtype=pl.Int32, is_elementwise=True)
    mood = pl.when(pl.col("units") > 0).then(pl.lit("positive")).otherwise(pl.lit("negative"))
    return (
        movies.filter(
            pl.col("language") == "en",
            pl.col("countries").list.contains("United States of America"),
            pl.col("year") >= 2000,
            pl.col("budget") != 0,
            pl.col("revenue") != 0,
        )
        .select(units=units, ratio=pl.col("revenue") / pl.col("budget"))
        .filter(pl.col("units") != 0)
        .group_by(sentiment=mood)
        .agg(pl.col("ratio").mean(), movies=pl.len())
        .sort("sentiment")
    )
