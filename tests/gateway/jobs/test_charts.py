"""The chart of an answer, chosen by its columns."""

from __future__ import annotations

import pytest

from cauce.datasets import BUILT_IN
from cauce.datasets.registry import Registry
from cauce.gateway.jobs.catalogue import catalogue
from cauce.gateway.jobs.charts import Chart, chart_of
from cauce.plan import BOOLEAN, DATE, FLOAT, INTEGER, TEXT, TEXT_LIST, TIMESTAMP, decimal
from cauce.plan.outputs import Output


@pytest.mark.parametrize(
    ("columns", "wanted"),
    [
        ({"actor": TEXT, "appearances": INTEGER}, Chart("bars", ["actor"], ["appearances"])),
        ({"store": TEXT, "user_id": INTEGER, "paid": FLOAT}, Chart("bars", ["store", "user_id"], ["paid"])),
        (
            {"month": TEXT, "ranking": TEXT, "item": TEXT, "profit": decimal(2)},
            Chart("line", ["ranking", "item"], ["profit"], "month", None, "ranking"),
        ),
        ({"day": DATE, "sales": INTEGER}, Chart("line", [], ["sales"], "day")),
        ({"since": TIMESTAMP, "sales": INTEGER}, Chart("line", [], ["sales"], "since")),
        ({"since": DATE, "shop": TEXT, "sales": INTEGER}, Chart("line", ["shop"], ["sales"], "since", None, "shop")),
        ({"day": DATE, "paid": BOOLEAN, "sales": INTEGER}, Chart("line", [], ["sales"], "day", None, "paid")),
        ({"year": INTEGER, "sales": INTEGER}, Chart("line", [], ["sales"], "year")),
        ({"month": TEXT, "opened": DATE, "sales": INTEGER}, Chart("line", [], ["sales"], "month")),
        (
            {"city": TEXT, "latitude": FLOAT, "longitude": FLOAT},
            Chart("scatter", ["city"], [], "longitude", "latitude"),
        ),
        ({"title": TEXT, "authors": TEXT_LIST}, None),
        ({"transaction_id": TEXT, "amount": FLOAT}, None),
        ({"total": INTEGER}, None),
    ],
)
def test_the_chart_follows_from_the_columns(columns: dict[str, Output], wanted: Chart | None) -> None:
    assert chart_of(columns) == wanted


def test_the_catalogue_lists_files_questions_and_needed_tables() -> None:
    found = {each.name: each for each in catalogue(Registry())}
    assert list(found) == list(BUILT_IN)
    assert sum(len(each.queries) for each in found.values()) == 19
    books = found["books"]
    assert [table.files for table in books.tables] == [["books_data.csv"], ["Books_rating.csv"]]
    assert {query.name: query.tables for query in books.queries}["q1"] == ["books"]
    assert {query.name: query.tables for query in books.queries}["q3"] == ["books", "reviews"]
    assert all(query.question and query.columns for each in found.values() for query in each.queries)
    assert [(each.name, each.choices) for each in books.parameters] == [("sentiment", ["vader", "textblob"])]
    assert {table.name: table.delimiter for table in found["flights"].tables}["airports"] == ";"
    assert {query.name: query.chart and query.chart.kind for query in found["coffee"].queries} == {
        "q1": None, "q2": "line", "q3": "line", "q4": "bars",
    }  # fmt: skip
