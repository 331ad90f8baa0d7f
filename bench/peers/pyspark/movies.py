"""The movies queries in PySpark."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

from bench.peers.columns import MOVIES
from bench.peers.pyspark.session import names, read, scored, spark, write
from bench.peers.task import Task


def answer(task: Task) -> None:
    with spark(task) as session:
        movies = (
            read(session, task.file("movies_metadata.csv"), MOVIES, multi_line=True)
            .dropna(subset=[name for name in MOVIES if name != "language"])
            .withColumn("id", fn.expr("try_cast(id AS BIGINT)"))
            .where("id IS NOT NULL")
            .withColumn("countries", names("countries"))
            .withColumn("year", fn.year(fn.expr("try_to_timestamp(date, 'yyyy-MM-dd')")))
            .withColumn("budget", fn.expr("try_cast(budget AS DOUBLE)"))
            .withColumn("revenue", fn.expr("try_cast(revenue AS DOUBLE)"))
            .cache()
        )
        argentine = movies.where(_made_in("Argentina") & (fn.col("year") >= 2000)).cache()
        write(
            task,
            {
                "q1": lambda: argentine.where(_made_in("Spain") & (fn.col("year") < 2010)).select(
                    "title", fn.array_join(names("genres"), "; ").alias("genres")
                ),
                "q2": lambda: (
                    movies.where(fn.size("countries") == 1)
                    .groupBy(fn.col("countries")[0].alias("country"))
                    .agg(fn.sum("budget").alias("budget"))
                    .sort(fn.desc("budget"), "country")
                    .limit(5)
                ),
                "q3": lambda: _extremes(session, argentine, task),
                "q4": lambda: _actors(session, argentine, task),
                "q5": lambda: _moods(movies, task),
            },
        )


def _made_in(country: str) -> Column:
    return fn.array_contains("countries", country)


def _extremes(session: SparkSession, argentine: DataFrame, task: Task) -> DataFrame:
    candidates = argentine.select("id", "title").distinct()
    path = task.file("ratings.csv", "ratings_small.csv")
    ratings = read(session, path, {"id": "movieId", "rating": "rating"}).dropna()
    rated = (
        ratings.withColumn("id", fn.col("id").cast("bigint"))
        .join(fn.broadcast(argentine.select("id").distinct()), "id")
        .groupBy("id")
        .agg(fn.avg(fn.col("rating").cast("double")).alias("rating"))
        .join(candidates, "id")
        .select("id", "title", "rating")
        .cache()
    )
    best = rated.sort(fn.desc("rating"), "id", "title").limit(1).select(fn.lit("best").alias("which"), "*")
    worst = rated.sort("rating", "id", "title").limit(1).select(fn.lit("worst").alias("which"), "*")
    return best.union(worst)


def _actors(session: SparkSession, argentine: DataFrame, task: Task) -> DataFrame:
    credits = read(session, task.file("credits.csv"), {"key": "id", "cast": "cast"}, multi_line=True)
    keys = argentine.select(fn.col("id").cast("string").alias("key"))
    return (
        credits.join(fn.broadcast(keys), "key")
        .select(fn.explode(names("cast")).alias("actor"))
        .groupBy("actor")
        .agg(fn.count("*").alias("appearances"))
        .sort(fn.desc("appearances"), "actor")
        .limit(10)
    )


def _moods(movies: DataFrame, task: Task) -> DataFrame:
    found = movies.where(
        (fn.col("language") == "en")
        & _made_in("United States of America")
        & (fn.col("year") >= 2000)
        & (fn.col("budget") != 0)
        & (fn.col("revenue") != 0)
    )
    shares = found.select(
        scored("overview", task).alias("units"), (fn.col("revenue") / fn.col("budget")).alias("ratio")
    )
    mood = fn.when(fn.col("units") > 0, "positive").otherwise("negative").alias("sentiment")
    return (
        shares.where("units != 0")
        .groupBy(mood)
        .agg(fn.avg("ratio").alias("ratio"), fn.count("*").alias("movies"))
        .sort("sentiment")
    )
