"""The books queries in DuckDB: reviews are joined with the titles asked for while they are read."""

from __future__ import annotations

from bench.peers.duckdb.session import add_scorer, connect, csv, write
from bench.peers.task import Task

BOOKS = """
CREATE TABLE books AS
SELECT "Title" AS title, authors, publisher, categories, row_number() OVER () AS place,
       CAST(nullif(regexp_extract(publishedDate, '[0-9]{{4}}'), '') AS INTEGER) AS year
FROM {files}
WHERE "Title" IS NOT NULL AND authors IS NOT NULL AND categories IS NOT NULL AND publishedDate IS NOT NULL;

CREATE MACRO has(categories, name) AS list_contains(list_transform(texts(categories), lambda x: lower(x)), name);

CREATE TABLE titles AS
SELECT title, bool_or(coalesce(year BETWEEN 1990 AND 1999, false)) AS nineties,
       bool_or(has(categories, 'fiction')) AS fiction,
       arg_min(authors, place) FILTER (year BETWEEN 1990 AND 1999) AS authors
FROM books GROUP BY title HAVING nineties OR fiction;
"""

REVIEWS = """
CREATE TABLE reviews AS
SELECT titles.title, nineties, CAST("review/score" AS DECIMAL(4, 2)) AS score{units}
FROM {files} AS read JOIN titles ON read."Title" = titles.title{where}
"""

LOADED = """
CREATE TABLE scores AS SELECT "Title" AS title, CAST("review/score" AS DECIMAL(4, 2)) AS score FROM {files};
CREATE VIEW reviews AS SELECT titles.title, nineties, score FROM scores JOIN titles ON scores.title = titles.title
"""

QUERIES = {
    "q1": """
        SELECT title, array_to_string(texts(authors), '; ') AS authors, publisher FROM books
        WHERE year BETWEEN 2000 AND 2023 AND contains(lower(title), 'distributed') AND has(categories, 'computers')
        ORDER BY place""",
    "q2": """
        SELECT author, count(DISTINCT year // 10) AS decades
        FROM (SELECT unnest(texts(authors)) AS author, year FROM books WHERE year IS NOT NULL)
        GROUP BY author HAVING decades >= 10 ORDER BY author""",
    "q3": """
        SELECT title, array_to_string(texts(any_value(authors)), '; ') AS authors, count(*) AS reviews
        FROM reviews JOIN titles USING (title) WHERE reviews.nineties
        GROUP BY title HAVING count(*) >= 500 ORDER BY title""",
    "q4": """
        SELECT title, avg(score) AS rating FROM reviews WHERE nineties
        GROUP BY title HAVING count(*) >= 500 AND rating IS NOT NULL ORDER BY rating DESC, title LIMIT 10""",
    "q5": """
        WITH means AS (
            SELECT title, sum(units) / (10000 * count(units)) AS sentiment
            FROM reviews WHERE units IS NOT NULL GROUP BY title)
        SELECT title, sentiment FROM means
        WHERE sentiment >= (SELECT quantile_cont(sentiment, 0.9) FROM means) ORDER BY sentiment DESC, title""",
}


def answer(task: Task) -> None:
    connection = connect(task)
    connection.execute(BOOKS.format(files=csv(task.file("books_data.csv"), lenient=False)))
    if task.asks("q3", "q4", "q5"):
        units, where = "", " WHERE nineties"
        if task.asks("q5"):
            add_scorer(connection, task)
            # Texts are scored while they are read, and not stored.
            units, where = ', CASE WHEN fiction THEN score("review/text") END AS units', ""
        files = csv(task.file("Books_rating.csv"), lenient=False)
        reviews = LOADED if task.loaded else REVIEWS
        connection.execute(reviews.format(files=files, units=units, where=where))
    write(connection, task, QUERIES)
