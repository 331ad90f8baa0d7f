"""The books queries q1 to q4 in DuckDB, as its users would write them: needed columns loaded once, then SQL."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

CSV = "delim = ',', quote = '\"', escape = '\"', buffer_size = 128_000_000"
"""With its own buffers, DuckDB refuses or misreads some files whose quoted texts hold line ends: larger ones help."""

LOAD = """
CREATE TABLE books AS
SELECT "Title" AS title, authors, publisher, publishedDate AS published, categories, row_number() OVER () AS place
FROM read_csv('{data}/books_data.csv', header = true, all_varchar = true, {csv})
WHERE "Title" IS NOT NULL AND authors IS NOT NULL AND categories IS NOT NULL AND publishedDate IS NOT NULL;
CREATE TABLE reviews AS
SELECT "Title" AS title, CAST("review/score" AS DECIMAL(4, 2)) AS score
FROM read_csv('{data}/Books_rating.csv', header = true, all_varchar = true, {csv});
CREATE VIEW dated AS
SELECT *, CAST(nullif(regexp_extract(published, '[0-9]{{4}}'), '') AS INTEGER) AS year FROM books;
CREATE TABLE nineties AS
SELECT title, arg_min(authors, place) AS authors FROM dated WHERE year BETWEEN 1990 AND 1999 GROUP BY title;
"""

QUERIES = {
    "q1": """
        SELECT title, authors, publisher FROM dated
        WHERE year BETWEEN 2000 AND 2023 AND contains(lower(title), 'distributed')
          AND regexp_matches(lower(categories), '[''"]computers[''"]')
        ORDER BY place""",
    "q2": """
        SELECT author, count(DISTINCT year // 10) AS decades FROM (
            SELECT unnest(regexp_extract_all(authors, '''[^'']*''|"[^"]*"')) AS quoted, quoted[2:-2] AS author, year
            FROM dated WHERE year IS NOT NULL)
        GROUP BY author HAVING decades >= 10 ORDER BY author""",
    "q3": """
        SELECT title, any_value(n.authors) AS authors, count(*) AS reviews
        FROM reviews JOIN nineties n USING (title) GROUP BY title HAVING reviews >= 500 ORDER BY title""",
    "q4": """
        SELECT title, avg(score) AS rating
        FROM reviews JOIN nineties USING (title) GROUP BY title HAVING count(*) >= 500
        ORDER BY rating DESC, title LIMIT 10""",
}


def main(data: str, out: str) -> None:
    connection = duckdb.connect()
    for statement in LOAD.format(data=data, csv=CSV).split(";"):
        if statement.strip():
            connection.execute(statement)
    for query, text in QUERIES.items():
        connection.execute(f"COPY ({text}) TO '{Path(out) / query}.csv' (HEADER)")


if __name__ == "__main__":
    main(*sys.argv[1:3])
