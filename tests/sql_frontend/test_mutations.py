"""Texts outside the grammar: each is an error with a position, or an answer equal to DuckDB's; never a traceback."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pytest

from cauce.errors import JobFailed
from cauce.sql_frontend.answers import answers_of
from cauce.sql_frontend.problems import SqlError
from tests.sql_frontend.mutations import mutated
from tests.sql_frontend.runs import Both, _key, alike
from tests.sql_frontend.test_queries import ORDERED, ROWS, SCHEMA, UNORDERED

TEXTS = 1000
GROUPS, MORE_GROUPS = 10, 200


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    return Both(Path(tmp_path_factory.mktemp("tables")), SCHEMA, ROWS)


@pytest.mark.parametrize("seed", range(GROUPS))
def test_mutated_text_is_refused_with_a_position_or_answered_as_by_duckdb(both: Both, seed: int) -> None:
    _check_group(both, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(GROUPS, MORE_GROUPS))
def test_many_mutated_texts_are_refused_or_answered_as_by_duckdb(both: Both, seed: int) -> None:
    _check_group(both, seed)


def _check_group(both: Both, seed: int) -> None:
    choose = random.Random(seed)
    refused = 0
    for _ in range(TEXTS // GROUPS):
        text = mutated(choose, choose.choice(UNORDERED + ORDERED))
        problem = _problem(both, text)
        if problem is None:
            _check_answers(both, text)
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


def _check_answers(both: Both, text: str) -> None:
    """A mutation may give another valid query. DuckDB gives the same rows, or both fail on a value."""
    try:
        wanted = [both.duckdb.execute(each.query).fetchall() for each in both.duckdb.extract_statements(text)]
    except duckdb.Error:
        with pytest.raises(JobFailed):
            both.frames(text)
        return
    for frame, there in zip(both.frames(text).values(), wanted, strict=True):
        here, there = sorted(map(list, frame.rows()), key=_key), sorted(map(list, there), key=_key)
        assert len(here) == len(there), text
        for one, other in zip(here, there, strict=True):
            assert all(map(alike, one, other)), text


@pytest.mark.parametrize(
    ("text", "line", "column", "part"),
    [
        ("SELECT idd FROM sales", 1, 8, "there is no column idd; did you mean id?"),
        ("SELECT id\nFROM sale", 2, 6, "there is no table sale; did you mean sales?"),
        ("SELECT id FROM sales WHERE", 1, 22, "syntax error"),
        ("SELEC id FROM sales", 1, 1, "FROM or VALUES, not SELEC; did you mean SELECT?"),
        ("SELECT id FRM sales", 1, 15, "did you mean FROM instead of FRM?"),
        ("SELECT id FROM sales wher id = 1", 1, 27, "did you mean WHERE instead of wher?"),
        ("SELECT id FROM sales ORDER id", 1, 28, "write ORDER BY"),
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
        ("WITH t (SELECT 1) SELECT * FROM t", 1, 6, "write WITH name AS (SELECT ...)"),
        ("WITH t AS (SELECT 1) WITH u AS (SELECT 2) SELECT * FROM t", 1, 22, "a comma alone separates"),
        (
            "SELECT sum(id) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING) FROM sales",
            1,
            58,
            "BETWEEN needs a second bound",
        ),
        ("SELECT sum(id) OVER (ROWS BETWEEN 1 PRECEDING AND) FROM sales", 1, 50, "a bound of the frame is missing"),
        ("SELECT sum(id) OVER (ROWS 1 PRECEDING AND CURRENT ROW) FROM sales", 1, 39, "begins with BETWEEN"),
        ("SELECT sum(id) OVER (ROWS 1 FOLLOWING) FROM sales", 1, 8, "the frame ends before it begins"),
        ("SELECT rank() OVER FROM sales", 1, 20, "a window is missing after OVER"),
        ("SELECT rank() OVER (PARTITION BY ORDER BY id) FROM sales", 1, 34, "a value is missing after BY"),
        ("SELECT count(*) FROM sales GROUP BY HAVING count(*) > 1", 1, 37, "a value is missing after BY"),
        ("SELECT count(*) FROM sales GROUP BY ORDER BY 1", 1, 37, "a value is missing after BY"),
        ("SELECT id FROM sales, JOIN items ON true", 1, 23, "a table is missing between , and JOIN"),
        ("SELECT id FROM sales * WHERE id > 1", 1, 22, "after a table"),
        ("SELECT id FROM sales JOIN customers USING cust", 1, 43, "USING needs names in parentheses"),
        ("SELECT id FROM sales JOIN customers USING (cust())", 1, 44, "USING takes names"),
        ("SELECT DISTINCT ON () cust FROM sales", 1, 21, "DISTINCT ON needs a value"),
        ("SELECT DISTINCT ON (cust), id FROM sales", 1, 26, "something is missing before it"),
        ("SELECT * EXCLUDE paid() FROM sales", 1, 18, "EXCLUDE takes names"),
        ("SELECT * REPLACE (paid * 2 paid) FROM sales", 1, 28, "REPLACE needs AS"),
        ("SELECT id FROM sales ORDER BY 'x'", 1, 31, "ORDER BY 'x' has no effect"),
        ("SELECT id FROM sales ORDER BY NULL", 1, 8, "ORDER BY NULL has no effect"),
        ("SELECT day + + INTERVAL 1 DAY FROM sales", 1, 8, "+ needs a number, not INTERVAL"),
        ("WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT * FROM t) SELECT * FROM t", 1, 16, "recursive"),
    ],
)
def test_error_has_line_column_and_remedy(both: Both, text: str, line: int, column: int, part: str) -> None:
    with pytest.raises(SqlError) as caught:
        answers_of(text, both.catalogue)
    assert part in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)
