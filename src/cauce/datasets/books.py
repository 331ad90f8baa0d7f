"""Amazon books and their reviews: five questions on categories, decades, ratings and sentiment."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from cauce.plan import (
    FLOAT,
    INTEGER,
    TEXT,
    TEXT_LIST,
    Column,
    Dataset,
    Decimal,
    Parameter,
    Relation,
    Table,
    Text,
    TextList,
    agg,
    desc,
    divide,
    ratio,
)
from cauce.scan.sentiment import scored

books = Table(
    "books",
    "books_data.csv",
    {
        "title": Column("Title", Text()),
        "authors": Column("authors", TextList()),
        "publisher": Column("publisher", Text()),
        "published": Column("publishedDate", Text()),
        "categories": Column("categories", TextList()),
    },
    required=["title", "authors", "categories", "published"],
)
reviews = Table(
    "reviews",
    "Books_rating.csv",
    {
        "title": Column("Title", Text()),
        "score": Column("review/score", Decimal()),
        "text": Column("review/text", Text()),
    },
)

dataset = Dataset(
    "books",
    (books, reviews),
    parameters=(Parameter("sentiment", ("vader", "textblob"), "how review texts are scored"),),
    source=Path(__file__),
)

year = pl.col("published").str.extract(r"([0-9]{4})").cast(pl.Int32)
dated = books.with_columns(year=year)


def in_category(name: str) -> pl.Expr:
    lowered = pl.col("categories").list.eval(pl.element().str.to_lowercase())
    return lowered.list.contains(name.lower())


nineties = dated.filter(pl.col("year").is_between(1990, 1999)).group_by("title").agg(authors=agg.first("authors"))
of_nineties = reviews.join(nineties, on="title", how="semi", strategy="broadcast")
popular = (
    of_nineties.group_by("title").agg(reviews=agg.count()).filter(pl.col("reviews") >= 500).join(nineties, on="title")
)


@dataset.query(title=TEXT, authors=TEXT_LIST, publisher=TEXT)
def q1() -> Relation:
    """Books on computers of 2000 to 2023 with "distributed" in the title"""
    return (
        dated.filter(
            pl.col("year").is_between(2000, 2023),
            pl.col("title").str.to_lowercase().str.contains("distributed", literal=True),
            in_category("Computers"),
        )
        .select("title", "authors", "publisher")
        .in_input_order()
    )


@dataset.query(author=TEXT, decades=INTEGER)
def q2() -> Relation:
    """Authors with titles in at least 10 different decades"""
    return (
        dated.filter(pl.col("year").is_not_null())
        .select(author="authors", decade=pl.col("year") // 10 * 10)
        .explode("author")
        .group_by("author")
        .agg(decades=agg.n_unique("decade"))
        .filter(pl.col("decades") >= 10)
        .sort("author")
    )


@dataset.query(title=TEXT, authors=TEXT_LIST, reviews=INTEGER)
def q3() -> Relation:
    """Books of the 1990s with at least 500 reviews"""
    return popular.sort("title")


@dataset.query(title=TEXT, rating=FLOAT)
def q4() -> Relation:
    """The 10 of those with the best mean score"""
    scores = (
        of_nineties.filter(pl.col("score").is_not_null())
        .group_by("title")
        .agg(points=agg.sum("score"), scores=agg.count("score"))
    )
    return (
        popular.join(scores, on="title")
        .top_k(10, by=[desc(ratio("points", "scores")), "title"])
        .with_columns(rating=divide("points", "scores"))
        .sort(desc(ratio("points", "scores")), "title")
    )


@dataset.query(title=TEXT, sentiment=FLOAT)
def q5(sentiment: str) -> Relation:
    """Fiction titles whose mean review sentiment reaches the 90th percentile"""
    fiction = books.filter(in_category("Fiction")).distinct("title")
    means = (
        reviews.filter(pl.col("text").is_not_null())
        .join(fiction, on="title", how="semi", strategy="broadcast")
        .with_columns(score=scored("text", sentiment))
        .group_by("title")
        .agg(points=agg.sum("score"), reviews=agg.count())
        .with_columns(units=pl.col("reviews") * 10_000)
        .with_columns(sentiment=divide("points", "units"))
    )
    best = means.agg(limit=agg.quantile("sentiment", 0.9))
    return (
        means.with_scalars(best)
        .filter(pl.col("sentiment") >= pl.col("limit"))
        .sort(desc(ratio("points", "reviews")), "title")
    )
