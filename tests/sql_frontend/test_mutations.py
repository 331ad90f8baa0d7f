"""Texts outside the grammar: each is an error with a position, never a traceback, never an answer."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pytest

from cauce.sql_frontend.answers import answers_of
from cauce.sql_frontend.problems import SqlError
from tests.sql_frontend.mutations import mutated
from tests.sql_frontend.runs import Both
from tests.sql_frontend.test_queries import ORDERED, ROWS, SCHEMA, UNORDERED

TEXTS = 1000
GROUPS = 10


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    return Both(Path(tmp_path_factory.mktemp("tables")), SCHEMA, ROWS)


@pytest.mark.parametrize("seed", range(GROUPS))
def test_mutated_text_is_refused_with_a_position(both: Both, seed: int) -> None:
    choose = random.Random(seed)
    refused = 0
    for _ in range(TEXTS // GROUPS):
        text = mutated(choose, choose.choice(UNORDERED + ORDERED))
        problem = _problem(both, text)
        if problem is None:
            assert _is_valid(both, text), text
            continue
        refused += 1
        assert 0 <= problem.offset <= len(text)
        assert str(problem).startswith(f"line {problem.line}, column {problem.column}: ")
    assert refused > TEXTS // GROUPS // 2


def _problem(both: Both, text: str) -> SqlError | None:
    try:
        answers_of(text, both.catalogue)
    except SqlError as problem:
        return problem
    return None


def _is_valid(both: Both, text: str) -> bool:
    """Whether DuckDB takes the text as well: a mutation may give another valid query."""
    try:
        for statement in both.duckdb.extract_statements(text):
            both.duckdb.execute(f"EXPLAIN {statement.query}")
    except duckdb.Error:
        return False
    return True


@pytest.mark.parametrize(
    ("text", "line", "column", "part"),
    [
        ("SELECT idd FROM sales", 1, 8, "there is no column idd; did you mean id?"),
        ("SELECT id\nFROM sale", 2, 6, "there is no table sale; did you mean sales?"),
        ("SELECT id FROM sales WHERE", 1, 22, "syntax error"),
        ("SELECT cust FROM sales JOIN customers ON true", 1, 8, "column cust is ambiguous"),
        ("SELECT upper(id) FROM sales", 1, 8, "upper(BIGINT) does not exist"),
        ("SELECT item, count(*) FROM sales", 1, 8, "must be in GROUP BY"),
        ("SELECT id FROM sales WHERE count(*) > 1", 1, 28, "not allowed in WHERE"),
        ("SELECT now()", 1, 8, "another value on every run"),
        ("INSERT INTO sales VALUES (1)", 1, 1, "only queries"),
        ("SELECT id FROM sales LIMIT -1", 1, 29, "LIMIT takes a constant whole number"),
        ("SELECT 1 UNION SELECT 1, 2", 1, 23, "as many columns"),
        ("SELECT id = item FROM sales", 1, 8, "not BIGINT and VARCHAR; add a CAST"),
        ("SELECT nosuch(id) FROM sales", 1, 8, "there is no function nosuch"),
        ("SELECT 'a", 1, 10, "a quote"),
        ("", 1, 1, "there is no statement"),
        ("SELECT id FROM sales WHERE paid > $limit", 1, 28, "parameter $limit has no value"),
        ("WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT * FROM t) SELECT * FROM t", 1, 16, "recursive"),
    ],
)
def test_error_has_line_column_and_remedy(both: Both, text: str, line: int, column: int, part: str) -> None:
    with pytest.raises(SqlError) as caught:
        answers_of(text, both.catalogue)
    assert part in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)
