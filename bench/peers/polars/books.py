"""The books queries in Polars."""

from __future__ import annotations

import polars as pl

from bench.peers.polars.session import scan, texts, write
from bench.peers.task import Task


def answer(task: Task) -> None:
    books = (
        scan(
            task.file("books_data.csv"),
            title="Title",
            authors="authors",
            publisher="publisher",
            published="publishedDate",
            categories="categories",
        )
        .drop_nulls(["title", "authors", "categories", "published"])
        .with_columns(year=pl.col("published").str.extract("([0-9]{4})").cast(pl.Int32))
    )
    reviews = scan(task.file("Books_rating.csv"), title="Title", score="review/score", text="review/text")
    nineties = books.filter(pl.col("year").is_between(1990, 1999)).unique("title", keep="first", maintain_order=True)
    of_nineties = (
        reviews.join(nineties, on="title", how="semi")
        .group_by("title")
        .agg(reviews=pl.len(), rating=pl.col("score").cast(pl.Float64).mean())
        .filter(pl.col("reviews") >= 500)
    )
    write(
        task,
        {
            "q1": _distributed(books),
            "q2": _long_lived(books),
            "q3": of_nineties.join(nineties, on="title")
            .select("title", authors=texts("authors").list.join("; "), reviews="reviews")
            .sort("title"),
            "q4": of_nineties.drop_nulls("rating")
            .sort("rating", "title", descending=[True, False])
            .head(10)
            .select("title", "rating"),
            "q5": _best_liked(books, reviews, task),
        },
    )


def _of_category(name: str) -> pl.Expr:
    return texts("categories").list.eval(pl.element().str.to_lowercase()).list.contains(name)


def _distributed(books: pl.LazyFrame) -> pl.LazyFrame:
    return books.filter(
        pl.col("year").is_between(2000, 2023),
        pl.col("title").str.to_lowercase().str.contains("distributed", literal=True),
        _of_category("computers"),
    ).select("title", authors=texts("authors").list.join("; "), publisher="publisher")


def _long_lived(books: pl.LazyFrame) -> pl.LazyFrame:
    return (
        books.filter(pl.col("year").is_not_null())
        .select(author=texts("authors"), decade=pl.col("year") // 10)
        .explode("author")
        .group_by("author")
        .agg(decades=pl.col("decade").n_unique())
        .filter(pl.col("decades") >= 10)
        .sort("author")
    )


def _best_liked(books: pl.LazyFrame, reviews: pl.LazyFrame, task: Task) -> pl.LazyFrame:
    fiction = books.filter(_of_category("fiction")).select("title").unique()
    units = pl.col("text").map_batches(task.scorer, return_dtype=pl.Int32, is_elementwise=True)
    return (
        reviews.drop_nulls("text")
        .join(fiction, on="title", how="semi")
        .with_columns(units=units.cast(pl.Int64))
        .group_by("title")
        .agg(sentiment=pl.col("units").sum() / (10_000 * pl.len()))
        .filter(pl.col("sentiment") >= pl.col("sentiment").quantile(0.9, "linear"))
        .sort("sentiment", "title", descending=[True, False])
    )
