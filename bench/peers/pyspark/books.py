"""The books queries in PySpark: reviews are read once, and those of the requested titles are kept."""

from __future__ import annotations

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as fn

from bench.peers.pyspark.session import read, scored, spark, texts, write
from bench.peers.task import Task

BOOKS = {
    "title": "Title",
    "authors": "authors",
    "publisher": "publisher",
    "published": "publishedDate",
    "categories": "categories",
}


def answer(task: Task) -> None:
    with spark(task) as session:
        books = (
            read(session, task.file("books_data.csv"), BOOKS, multi_line=True)
            .dropna(subset=["title", "authors", "categories", "published"])
            .withColumn("year", fn.nullif(fn.regexp_extract("published", "[0-9]{4}", 0), fn.lit("")).cast("int"))
            .withColumn("place", fn.monotonically_increasing_id())
            .cache()
        )
        titles = _titles(books).cache()
        reviews = _reviews(session, titles, task)
        write(
            task,
            {
                "q1": lambda: _distributed(books),
                "q2": lambda: _long_lived(books),
                "q3": lambda: (
                    _popular(reviews).join(titles, "title").select("title", _joined("authors"), "reviews").sort("title")
                ),
                "q4": lambda: (
                    _popular(reviews)
                    .where("rating IS NOT NULL")
                    .sort(fn.desc("rating"), "title")
                    .limit(10)
                    .select("title", "rating")
                ),
                "q5": lambda: _best_liked(reviews, task),
            },
        )


def _of_category(name: str) -> Column:
    return fn.exists(texts("categories"), lambda each: fn.lower(each) == name)


def _joined(column: str) -> Column:
    return fn.array_join(texts(column), "; ").alias(column)


def _titles(books: DataFrame) -> DataFrame:
    """Titles of the 1990s, with the authors of the first such row, and titles of fiction."""
    nineties = fn.col("year").between(1990, 1999)
    return (
        books.withColumn("nineties", fn.coalesce(nineties, fn.lit(False)))
        .groupBy("title")
        .agg(
            fn.max("nineties").alias("nineties"),
            fn.max(_of_category("fiction")).alias("fiction"),
            fn.min_by("authors", fn.when(nineties, fn.col("place"))).alias("authors"),
        )
        .where("nineties OR fiction")
    )


def _reviews(session: SparkSession, titles: DataFrame, task: Task) -> DataFrame:
    columns = {"title": "Title"}
    if task.asks("q4"):
        columns["score"] = "review/score"
    if task.asks("q5"):
        columns["text"] = "review/text"
    reviews = read(session, task.file("Books_rating.csv"), columns, multi_line=True)
    if task.asks("q5"):
        wanted = titles.select("title", "nineties", "fiction")
        joined = reviews.join(fn.broadcast(wanted), "title")
        joined = joined.withColumn("text", fn.when(fn.col("fiction"), fn.col("text")))
    else:
        wanted = titles.where("nineties").select("title", "nineties")
        joined = reviews.join(fn.broadcast(wanted), "title")
    # One task reads the file: repartition, so that all tasks share the rest.
    return joined.repartition(2 * task.threads).persist(StorageLevel.MEMORY_AND_DISK)


def _distributed(books: DataFrame) -> DataFrame:
    found = books.where(
        fn.col("year").between(2000, 2023) & fn.lower("title").contains("distributed") & _of_category("computers")
    )
    return found.sort("place").select("title", _joined("authors"), "publisher")


def _long_lived(books: DataFrame) -> DataFrame:
    return (
        books.where("year IS NOT NULL")
        .select(fn.explode(texts("authors")).alias("author"), fn.floor(fn.col("year") / 10).alias("decade"))
        .groupBy("author")
        .agg(fn.count_distinct("decade").alias("decades"))
        .where("decades >= 10")
        .sort("author")
    )


def _popular(reviews: DataFrame) -> DataFrame:
    score = fn.col("score") if "score" in reviews.columns else fn.lit(None)
    counted = reviews.where("nineties").groupBy("title")
    return counted.agg(fn.count("*").alias("reviews"), fn.avg(score.cast("double")).alias("rating")).where(
        "reviews >= 500"
    )


def _best_liked(reviews: DataFrame, task: Task) -> DataFrame:
    means = (
        reviews.where("text IS NOT NULL")
        .select("title", scored("text", task).alias("units"))
        .groupBy("title")
        .agg((fn.sum("units") / (10_000 * fn.count("*"))).alias("sentiment"))
    )
    limit = fn.percentile("sentiment", fn.lit(0.9)).over(Window.partitionBy())
    best = means.withColumn("limit", limit).where("sentiment >= limit")
    return best.select("title", "sentiment").sort(fn.desc("sentiment"), "title")
