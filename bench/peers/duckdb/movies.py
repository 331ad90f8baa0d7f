"""The movies queries in DuckDB: literals are parsed for the rows that are left."""

from __future__ import annotations

from bench.peers.duckdb.session import add_scorer, connect, csv, write
from bench.peers.task import Task

MOVIES = """
CREATE TABLE movies AS
SELECT TRY_CAST(id AS BIGINT) AS id, title, genres, overview, original_language AS language,
       names(production_countries) AS countries, year(TRY_CAST(release_date AS DATE)) AS year,
       TRY_CAST(budget AS DECIMAL(18, 2)) AS budget, TRY_CAST(revenue AS DECIMAL(18, 2)) AS revenue,
       row_number() OVER () AS place
FROM {files}
WHERE TRY_CAST(id AS BIGINT) IS NOT NULL AND title IS NOT NULL AND genres IS NOT NULL AND release_date IS NOT NULL
  AND overview IS NOT NULL AND production_countries IS NOT NULL AND spoken_languages IS NOT NULL
  AND budget IS NOT NULL AND revenue IS NOT NULL;

CREATE VIEW argentine AS SELECT * FROM movies WHERE list_contains(countries, 'Argentina') AND year >= 2000;
"""

RATINGS = """
CREATE TABLE rated AS
SELECT id, title, rating
FROM (SELECT DISTINCT id, title FROM argentine)
JOIN (SELECT CAST(movieId AS BIGINT) AS id, avg(CAST(rating AS DECIMAL(4, 2))) AS rating
      FROM {files} WHERE movieId IN (SELECT CAST(id AS VARCHAR) FROM argentine) GROUP BY id) USING (id)
WHERE rating IS NOT NULL
"""

CREDITS = """
CREATE TABLE casts AS
SELECT unnest(names(credits."cast")) AS actor
FROM {files} AS credits JOIN argentine ON credits.id = CAST(argentine.id AS VARCHAR)
"""

QUERIES = {
    "q1": """
        SELECT title, array_to_string(names(genres), '; ') AS genres FROM argentine
        WHERE list_contains(countries, 'Spain') AND year < 2010 ORDER BY place""",
    "q2": """
        SELECT countries[1] AS country, sum(budget) AS budget FROM movies
        WHERE len(countries) = 1 AND budget IS NOT NULL GROUP BY country ORDER BY budget DESC, country LIMIT 5""",
    "q3": """
        FROM (SELECT 'best' AS which, * FROM rated ORDER BY rating DESC, id, title LIMIT 1)
        UNION ALL
        FROM (SELECT 'worst' AS which, * FROM rated ORDER BY rating, id, title LIMIT 1)""",
    "q4": """
        SELECT actor, count(*) AS appearances FROM casts
        GROUP BY actor ORDER BY appearances DESC, actor LIMIT 10""",
    "q5": """
        WITH scored AS MATERIALIZED (
            SELECT score(overview) AS units, CAST(revenue AS DOUBLE) / CAST(budget AS DOUBLE) AS ratio FROM movies
            WHERE language = 'en' AND list_contains(countries, 'United States of America') AND year >= 2000
              AND budget <> 0 AND revenue <> 0)
        SELECT CASE WHEN units > 0 THEN 'positive' ELSE 'negative' END AS sentiment, avg(ratio) AS ratio,
               count(*) AS movies
        FROM scored WHERE units <> 0 GROUP BY sentiment ORDER BY sentiment""",
}


def answer(task: Task) -> None:
    connection = connect(task)
    connection.execute(MOVIES.format(files=csv(task.file("movies_metadata.csv"))))
    if task.asks("q3"):
        connection.execute(RATINGS.format(files=csv(task.file("ratings.csv", "ratings_small.csv"))))
    if task.asks("q4"):
        connection.execute(CREDITS.format(files=csv(task.file("credits.csv"))))
    if task.asks("q5"):
        add_scorer(connection, task)
    write(connection, task, QUERIES)
