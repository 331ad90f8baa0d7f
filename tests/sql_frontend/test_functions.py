"""The table of functions: every example against DuckDB."""

from __future__ import annotations

import pytest

from cauce.sql_frontend.binding.aggregates import AGGREGATES
from cauce.sql_frontend.binding.windows import WINDOW_FUNCTIONS
from cauce.sql_frontend.functions.catalogue import TABLE
from cauce.sql_frontend.functions.conditional import CONSTRUCTS
from cauce.sql_frontend.types import BIGINT
from tests.sql_frontend.expressions import Frame, same
from tests.sql_frontend.runs import Both

EXAMPLES = [each.example for each in TABLE.functions() if each.example] + [example for _, _, example in CONSTRUCTS]


@pytest.fixture(scope="module")
def frame() -> Frame:
    return Frame({"id": BIGINT}, [[1]])


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_equals_duckdb(frame: Frame, example: str) -> None:
    values, kind = frame.here(example)
    expected, wanted = frame.there(example)
    assert all(map(same, values, expected)), (values, expected)
    assert str(kind) == wanted


TABLE_OF_EXAMPLES = {"t": {"x": "BIGINT", "y": "DOUBLE", "s": "VARCHAR"}}
ROWS = [[1, 0.5, "b"], [2, -1.0, "a"], [2, 4.0, None], [None, 2.0, "c"], [5, None, "d"]]
OVER_ROWS = [each.example for each in {**AGGREGATES, **WINDOW_FUNCTIONS}.values() if each.name not in ("list",)]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    return Both(tmp_path_factory.mktemp("examples"), TABLE_OF_EXAMPLES, {"t": ROWS})


@pytest.mark.parametrize("example", dict.fromkeys(OVER_ROWS))
def test_example_over_rows_equals_duckdb(both: Both, example: str) -> None:
    both.check(f"SELECT {example} AS value FROM t")


def test_example_of_a_list_equals_duckdb(both: Both) -> None:
    both.check("SELECT CAST(list(x ORDER BY x) AS VARCHAR) AS value FROM t")


def test_at_least_120_functions_are_documented() -> None:
    documented = {each.name for each in TABLE.functions() if each.doc and each.group}
    assert len(documented) >= 120


def test_sentiment_is_the_score_of_the_library(frame: Frame) -> None:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    text = "A great book, I loved it!"
    expected = SentimentIntensityAnalyzer().polarity_scores(text)["compound"]
    assert frame.here(f"sentiment('{text}')")[0] == [expected]
