"""Several statements as one job: names, parameters, shared work."""

from __future__ import annotations

from pathlib import Path

import pytest

from cauce.errors import JobFailed
from cauce.sql_frontend.dataset import sql_dataset
from cauce.sql_frontend.problems import SqlError
from tests.sql_frontend.runs import Both
from tests.sql_frontend.test_queries import ROWS, SCHEMA


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    return Both(Path(tmp_path_factory.mktemp("tables")), SCHEMA, ROWS)


def test_comments_name_answers_and_the_others_are_numbered(both: Both) -> None:
    text = "SELECT 1 AS x;\n-- name: best\nSELECT 2 AS x; SELECT 3 AS x"
    assert {name: frame["x"].to_list() for name, frame in both.frames(text).items()} == {
        "q1": [1],
        "best": [2],
        "q3": [3],
    }


def test_two_statements_of_one_name_are_refused(both: Both) -> None:
    with pytest.raises(SqlError, match="line 2, column 20: two statements have the name a"):
        sql_dataset("-- name: a\nSELECT 1; -- name: a\nSELECT 2", both.catalogue)


def test_equal_steps_of_two_statements_are_computed_once(both: Both) -> None:
    one = "SELECT cust, sum(paid * qty) AS s FROM sales WHERE qty > 1 GROUP BY cust"
    other = f"SELECT cust,   s FROM ({one}) t WHERE s > 3"
    alone = sql_dataset(one, both.catalogue).plan()
    together = sql_dataset(f"{one};\n\n{other}", both.catalogue).plan()
    scans = [edge for stage in together.stages if stage.table for edge in stage.sends]
    assert len(scans) == len([edge for stage in alone.stages if stage.table for edge in stage.sends]) == 1


def test_common_table_expression_is_computed_once(both: Both) -> None:
    text = "WITH t AS (SELECT cust, sum(qty) AS n FROM sales GROUP BY cust) SELECT a.n FROM t a JOIN t b ON a.n = b.n"
    plan = sql_dataset(text, both.catalogue).plan()
    assert sum(len(stage.sends) for stage in plan.stages if stage.table) == 1


def test_parameter_takes_its_default_or_the_given_value(both: Both) -> None:
    text = "-- parameter: least = 3\nSELECT count(*) AS n FROM sales WHERE qty >= $least"
    assert both.here(text) == both.there("SELECT count(*) FROM sales WHERE qty >= 3")
    dataset = sql_dataset(text, both.catalogue)
    assert dataset.plan(parameters={"least": "10"}).digest != dataset.plan().digest


@pytest.mark.parametrize(
    ("value", "condition"),
    [("2024-01-31", "day = '2024-01-31'"), ("DATE '2024-02-01'", "day = DATE '2024-02-01'"), ("'x'", "item = 'x'")],
)
def test_parameter_is_a_literal_or_a_text(both: Both, value: str, condition: str) -> None:
    column = condition.split()[0]
    text = f"-- parameter: v = {value}\nSELECT id FROM sales WHERE {column} = $v"
    assert both.here(text) == both.there(f"SELECT id FROM sales WHERE {condition}")


def test_version_changes_with_the_text(both: Both) -> None:
    assert sql_dataset("SELECT 1", both.catalogue).version != sql_dataset("SELECT 2", both.catalogue).version


def test_error_of_a_value_names_the_statement_and_the_place(both: Both) -> None:
    text = "SELECT 1;\n-- name: cast\nSELECT CAST(item AS INTEGER) FROM sales"
    with pytest.raises(
        JobFailed,
        match=r"cast, line 3, column 13: cannot convert '\w+' from VARCHAR to INTEGER; use TRY_CAST for NULL$",
    ):
        both.frames(text)


def test_scalar_subquery_with_two_rows_fails(both: Both) -> None:
    with pytest.raises(JobFailed, match="more than one row"):
        both.frames("SELECT (SELECT name FROM customers) FROM sales")
