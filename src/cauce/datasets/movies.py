"""Movies, their ratings and credits: five questions on countries, budgets, ratings, casts and overviews."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from cauce.plan import (
    DECIMAL,
    FLOAT,
    INTEGER,
    TEXT,
    TEXT_LIST,
    Column,
    Dataset,
    Decimal,
    FieldList,
    Identifier,
    Parameter,
    Relation,
    Table,
    Text,
    agg,
    desc,
    divide,
    ratio,
)
from cauce.scan.sentiment import scored

movies = Table(
    "movies",
    "movies_metadata.csv",
    {
        "id": Identifier(),
        "title": Text(),
        "genres": FieldList("name"),
        "release_date": Text(),
        "overview": Text(),
        "countries": Column("production_countries", FieldList("name")),
        "languages": Column("spoken_languages", FieldList("name")),
        "language": Column("original_language", Text()),
        "budget": Decimal(),
        "revenue": Decimal(),
    },
    required=[
        "id",
        "title",
        "genres",
        "release_date",
        "overview",
        "countries",
        "languages",
        "budget",
        "revenue",
    ],
)
ratings = Table(
    "ratings",
    ["ratings.csv", "ratings_small.csv"],
    {"id": Column("movieId", Identifier()), "rating": Decimal()},
)
credits_ = Table("credits", "credits.csv", {"id": Identifier(), "actor": Column("cast", FieldList("name"))})

dataset = Dataset(
    "movies",
    (movies, ratings, credits_),
    parameters=(Parameter("sentiment", ("vader", "textblob"), "how overviews are scored"),),
    source=Path(__file__),
)

# A bad id excludes its movie from every query, even from those that do not output ids.
identified = movies.filter(pl.col("id").is_not_null())
year = pl.when(pl.col("release_date").str.contains(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")).then(
    pl.col("release_date").str.to_date("%Y-%m-%d", strict=False).dt.year()
)
dated = identified.with_columns(year=year)


def made_in(country: str) -> pl.Expr:
    return pl.col("countries").list.contains(country)


argentine = dated.filter(made_in("Argentina"), pl.col("year") >= 2000)


@dataset.query(title=TEXT, genres=TEXT_LIST)
def q1() -> Relation:
    """Movies made in both Argentina and Spain from 2000 to 2009"""
    return (
        dated.filter(made_in("Argentina"), made_in("Spain"), pl.col("year").is_between(2000, 2009))
        .select("title", "genres")
        .in_input_order()
    )


@dataset.query(country=TEXT, budget=DECIMAL)
def q2() -> Relation:
    """The 5 countries that put most money into movies they made alone"""
    return (
        identified.filter(pl.col("countries").list.len() == 1)
        .select(country=pl.col("countries").list.first(), budget="budget")
        .group_by("country")
        .agg(budget=agg.sum("budget"))
        .top_k(5, by=[desc("budget"), "country"])
        .sort(desc("budget"), "country")
    )


@dataset.query(which=TEXT, id=INTEGER, title=TEXT, rating=FLOAT)
def q3() -> Relation:
    """The Argentine movies since 2000 with the best and the worst mean rating"""
    candidates = argentine.distinct("id", "title")
    rated = (
        ratings.filter(pl.col("rating").is_not_null())
        .join(candidates, on="id", how="semi", strategy="broadcast")
        .group_by("id")
        .agg(points=agg.sum("rating"), votes=agg.count("rating"))
        .join(candidates, on="id")
    )
    best = rated.top_k(1, by=[desc(ratio("points", "votes")), "id", "title"]).with_columns(which=pl.lit("best"))
    worst = rated.top_k(1, by=[ratio("points", "votes"), "id", "title"]).with_columns(which=pl.lit("worst"))
    return best.concat(worst).with_columns(rating=divide("points", "votes")).sort("which")


@dataset.query(actor=TEXT, appearances=INTEGER)
def q4() -> Relation:
    """The 10 actors with most appearances in Argentine movies since 2000"""
    return (
        credits_.join(argentine.select("id"), on="id", strategy="broadcast")
        .explode("actor")
        .group_by("actor")
        .agg(appearances=agg.count())
        .top_k(10, by=[desc("appearances"), "actor"])
        .sort(desc("appearances"), "actor")
    )


@dataset.query(sentiment=TEXT, ratio=FLOAT, movies=INTEGER)
def q5(sentiment: str) -> Relation:
    """Mean of revenue over budget of American movies in English, for positive and negative overviews"""
    mood = pl.when(pl.col("score") > 0).then(pl.lit("positive")).when(pl.col("score") < 0).then(pl.lit("negative"))
    return (
        dated.filter(
            pl.col("language") == "en",
            made_in("United States of America"),
            pl.col("year") >= 2000,
            pl.col("budget") != 0,
            pl.col("revenue") != 0,
        )
        .with_columns(score=scored("overview", sentiment), share=divide("revenue", "budget"))
        .select(sentiment=mood, share="share")
        .group_by("sentiment")
        .agg(ratio=agg.mean("share"), movies=agg.count())
        .sort("sentiment")
    )
