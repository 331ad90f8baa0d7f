"""The movies dataset: five queries over movies, their ratings and their credits."""

from __future__ import annotations

import math
from fractions import Fraction

from tests.oracle.cells import DECIMAL, IDENTIFIER, NAMES, TEXT
from tests.oracle.files import single
from tests.oracle.query import Connection, Dataset, Query
from tests.oracle.render import Row, plain
from tests.oracle.sentiment import Scorer
from tests.oracle.tables import Table

MOVIES = Table(
    "movies",
    single("movies_metadata.csv"),
    kinds={
        "id": IDENTIFIER,
        "title": TEXT,
        "genres": NAMES,
        "production_countries": NAMES,
        "release_date": TEXT,
        "original_language": TEXT,
        "budget": DECIMAL,
        "revenue": DECIMAL,
        "overview": TEXT,
    },
    uses={
        "q1": ("id", "title", "genres", "production_countries", "release_date"),
        "q2": ("id", "production_countries", "budget"),
        "q3": ("id", "title", "production_countries", "release_date"),
        "q4": ("id", "production_countries", "release_date"),
        "q5": (
            "id",
            "production_countries",
            "release_date",
            "original_language",
            "budget",
            "revenue",
            "overview",
        ),
    },
    required=(
        "id",
        "title",
        "genres",
        "release_date",
        "overview",
        "production_countries",
        "spoken_languages",
        "budget",
        "revenue",
    ),
)

RATINGS = Table(
    "ratings",
    single("ratings.csv", "ratings_small.csv"),
    kinds={"movieId": IDENTIFIER, "rating": DECIMAL},
    uses={"q3": ("movieId", "rating")},
)

CREDITS = Table(
    "credits",
    single("credits.csv"),
    kinds={"id": IDENTIFIER, "cast": NAMES},
    uses={"q4": ("id", "cast")},
)

YEAR = """
    CASE WHEN regexp_full_match(release_date, '[0-9]{4}-[0-9]{2}-[0-9]{2}')
         THEN year(TRY_CAST(release_date AS DATE)) END
"""


def q1(con: Connection, _score: Scorer) -> list[Row]:
    return con.execute(f"""
        SELECT title, genres
        FROM movies_q1
        WHERE list_has_all(production_countries, ['Argentina', 'Spain'])
          AND {YEAR} >= 2000 AND {YEAR} < 2010
        ORDER BY pos
    """).fetchall()


def q2(con: Connection, _score: Scorer) -> list[Row]:
    totals = con.execute("""
        SELECT production_countries[1] AS country, sum(budget) AS total
        FROM movies_q2
        WHERE len(production_countries) = 1
        GROUP BY country
        ORDER BY total DESC, country
        LIMIT 5
    """).fetchall()
    return [(country, plain(total)) for country, total in totals]


def q3(con: Connection, _score: Scorer) -> list[Row]:
    sums = con.execute(f"""
        SELECT id, title, total, ratings
        FROM (SELECT DISTINCT id, title
              FROM movies_q3
              WHERE list_contains(production_countries, 'Argentina') AND {YEAR} >= 2000)
        JOIN (SELECT movieId AS id, sum(rating) AS total, count(*) AS ratings
              FROM ratings_q3
              WHERE rating IS NOT NULL
              GROUP BY movieId) USING (id)
        ORDER BY id, title
    """).fetchall()
    if not sums:
        return []
    means = [(id_, title, Fraction(total) / ratings) for id_, title, total, ratings in sums]
    # Of equal means, max and min both keep the first: lowest id, then lowest title.
    best = max(means, key=lambda mean: mean[2])
    worst = min(means, key=lambda mean: mean[2])
    return [(which, id_, title, float(mean)) for which, (id_, title, mean) in (("best", best), ("worst", worst))]


def q4(con: Connection, _score: Scorer) -> list[Row]:
    return con.execute(f"""
        SELECT actor, count(*) AS appearances
        FROM (SELECT id
              FROM movies_q4
              WHERE list_contains(production_countries, 'Argentina') AND {YEAR} >= 2000)
        JOIN (SELECT id, unnest("cast") AS actor FROM credits_q4) USING (id)
        GROUP BY actor
        ORDER BY appearances DESC, actor
        LIMIT 10
    """).fetchall()


def q5(con: Connection, score: Scorer) -> list[Row]:
    films = con.execute(f"""
        SELECT revenue, budget, overview
        FROM movies_q5
        WHERE original_language = 'en'
          AND list_contains(production_countries, 'United States of America')
          AND {YEAR} >= 2000 AND budget <> 0 AND revenue <> 0
    """).fetchall()
    ratios: dict[str, list[float]] = {"negative": [], "positive": []}
    for revenue, budget, overview in films:
        compound = score(overview)
        if compound != 0:
            ratio = float(Fraction(revenue) / Fraction(budget))
            ratios["positive" if compound > 0 else "negative"].append(ratio)
    return [(which, math.fsum(some) / len(some), len(some)) for which, some in ratios.items() if some]


DATASET = Dataset(
    tables=(MOVIES, RATINGS, CREDITS),
    queries={
        "q1": Query(("title", "genres"), q1),
        "q2": Query(("country", "budget"), q2),
        "q3": Query(("which", "id", "title", "rating"), q3),
        "q4": Query(("actor", "appearances"), q4),
        "q5": Query(("sentiment", "ratio", "movies"), q5),
    },
)
