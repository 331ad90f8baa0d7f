"""The books dataset: five queries over books and their reviews."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import numpy as np

from tests.oracle.cells import DECIMAL, TEXT, TEXT_LIST
from tests.oracle.files import single
from tests.oracle.query import Connection, Dataset, Query
from tests.oracle.render import Row
from tests.oracle.sentiment import Scorer
from tests.oracle.tables import Table

BOOKS = Table(
    "books",
    single("books_data.csv"),
    kinds={
        "Title": TEXT,
        "authors": TEXT_LIST,
        "publisher": TEXT,
        "publishedDate": TEXT,
        "categories": TEXT_LIST,
    },
    uses={
        "q1": ("Title", "authors", "publisher", "publishedDate", "categories"),
        "q2": ("Title", "authors", "publishedDate"),
        "q3": ("Title", "authors", "publishedDate"),
        "q4": ("Title", "authors", "publishedDate"),
        "q5": ("Title", "categories"),
    },
    required=("Title", "authors", "categories", "publishedDate"),
)

REVIEWS = Table(
    "reviews",
    single("Books_rating.csv"),
    kinds={"Title": TEXT, "review/score": DECIMAL, "review/text": TEXT},
    uses={"q3": ("Title",), "q4": ("Title", "review/score"), "q5": ("Title", "review/text")},
)

YEAR = "CAST(nullif(regexp_extract(publishedDate, '[0-9]{4}'), '') AS INTEGER)"


def _has_category(name: str) -> str:
    return f"list_contains(list_transform(categories, lambda c: unicode_lower(c)), '{name.lower()}')"


def q1(con: Connection, _score: Scorer) -> list[Row]:
    return con.execute(f"""
        SELECT Title, authors, publisher
        FROM books_q1
        WHERE {_has_category("Computers")}
          AND {YEAR} BETWEEN 2000 AND 2023
          AND contains(unicode_lower(Title), 'distributed')
        ORDER BY pos
    """).fetchall()


def q2(con: Connection, _score: Scorer) -> list[Row]:
    return con.execute(f"""
        SELECT author, count(DISTINCT year // 10) AS decades
        FROM (SELECT unnest(authors) AS author, {YEAR} AS year FROM books_q2)
        GROUP BY author
        HAVING decades >= 10
        ORDER BY author
    """).fetchall()


def _much_reviewed(query: str) -> str:
    """The titles of q3. Every review row counts, also one whose score cannot be read."""
    return f"""
        SELECT Title, authors, reviews
        FROM (SELECT Title, arg_min(authors, pos) AS authors
              FROM books_{query}
              WHERE {YEAR} BETWEEN 1990 AND 1999
              GROUP BY Title)
        JOIN (SELECT Title, count(*) AS reviews FROM reviews GROUP BY Title) USING (Title)
        WHERE reviews >= 500
        ORDER BY Title
    """


def q3(con: Connection, _score: Scorer) -> list[Row]:
    return con.execute(_much_reviewed("q3")).fetchall()


def q4(con: Connection, _score: Scorer) -> list[Row]:
    sums = con.execute(f"""
        SELECT Title, sum("review/score"), count("review/score")
        FROM ({_much_reviewed("q4")}) JOIN reviews_q4 USING (Title)
        WHERE "review/score" IS NOT NULL
        GROUP BY Title
    """).fetchall()
    means = [(title, Fraction(total) / count) for title, total, count in sums]
    means.sort(key=lambda mean: (-mean[1], mean[0]))
    return [(title, float(mean)) for title, mean in means[:10]]


def q5(con: Connection, score: Scorer) -> list[Row]:
    texts = con.execute(f"""
        SELECT Title, "review/text", count(*)
        FROM reviews_q5
        SEMI JOIN (SELECT Title FROM books_q5 WHERE {_has_category("Fiction")}) USING (Title)
        WHERE "review/text" IS NOT NULL
        GROUP BY ALL
    """).fetchall()
    totals: dict[str, int] = defaultdict(int)
    counts: dict[str, int] = defaultdict(int)
    for title, text, count in texts:
        totals[title] += score(text) * count
        counts[title] += count
    means = [(title, Fraction(totals[title], 10_000 * counts[title])) for title in totals]
    if not means:
        return []
    threshold = float(np.quantile([float(mean) for _, mean in means], 0.9))
    means.sort(key=lambda mean: (-mean[1], mean[0]))
    return [(title, float(mean)) for title, mean in means if float(mean) >= threshold]


DATASET = Dataset(
    tables=(BOOKS, REVIEWS),
    queries={
        "q1": Query(("title", "authors", "publisher"), q1),
        "q2": Query(("author", "decades"), q2),
        "q3": Query(("title", "authors", "reviews"), q3),
        "q4": Query(("title", "rating"), q4),
        "q5": Query(("title", "sentiment"), q5),
    },
)
