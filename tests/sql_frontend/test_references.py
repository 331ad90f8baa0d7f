"""Names in statements, before any file is read."""

from __future__ import annotations

import pytest

from cauce.sql_frontend.references import may_use

COLUMNS = ("a", "B", "my column")


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("SELECT a FROM t", ["a"]),
        ("SELECT count(*) AS n FROM t", []),
        ("SELECT count(*) FILTER (WHERE b > 1) AS n FROM t", ["B"]),
        ("SELECT u.a FROM t JOIN u USING (b)", ["a", "B"]),
        ('SELECT count(*) AS n FROM t WHERE "My column" > 1', ["my column"]),
        ("SELECT 1 FROM t; SELECT max(a) FROM t ORDER BY B", ["a", "B"]),
        ("SELECT * FROM t", list(COLUMNS)),
        ("SELECT n FROM (SELECT t.* FROM t)", list(COLUMNS)),
        ("FROM t", list(COLUMNS)),
        ("SELECT max(COLUMNS(*)) FROM t", list(COLUMNS)),
    ],
)
def test_columns_that_statements_may_use(text: str, used: list[str]) -> None:
    found = may_use(text)
    assert [name for name in COLUMNS if found(name)] == used
