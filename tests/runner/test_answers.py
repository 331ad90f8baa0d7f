"""Answers behave as a dictionary, mention rejects, and become escaped tables in a notebook."""

from __future__ import annotations

import polars as pl
import pytest

from cauce.errors import NoSuchAnswer, UnknownName, UsageError
from cauce.runner.answers import SHOWN_ROWS, Answers
from cauce.scan.block import REJECT_SCHEMA

FUNNEL = pl.DataFrame({"step": ["<b>visit</b>", None], "tags": [["a", "b"], []], "n": [1, 2]})
LONG = pl.DataFrame({"n": range(SHOWN_ROWS + 5)})


@pytest.fixture
def answers() -> Answers:
    values = ["shop.csv", 3, "price", "not a number", "<script>"]
    rejects = pl.DataFrame([values[: len(REJECT_SCHEMA)]] * 31, schema=REJECT_SCHEMA, orient="row")
    return Answers({"funnel": FUNNEL, "long": LONG}, rejects, {"funnel": "Steps & visits"})


def test_it_is_a_dictionary(answers: Answers) -> None:
    assert list(answers) == ["funnel", "long"]
    assert [(query, frame.height) for query, frame in answers.items()] == [("funnel", 2), ("long", SHOWN_ROWS + 5)]
    assert len(answers) == 2
    assert "funnel" in answers
    assert "tunnel" not in answers
    assert answers.get("tunnel") is None
    assert answers["funnel"] is FUNNEL


@pytest.mark.parametrize("kind", [KeyError, UnknownName, NoSuchAnswer])
def test_a_missing_answer_names_the_nearest_query(answers: Answers, kind: type[Exception]) -> None:
    with pytest.raises(kind) as raised:
        answers["tunnel"]
    assert str(raised.value) == "no answer 'tunnel'; there are funnel, long; did you mean funnel?"


def test_a_query_as_attribute_hints_at_the_index_syntax(answers: Answers) -> None:
    with pytest.raises(AttributeError, match=r"write answers\['funnel'\]"):
        answers.funnel  # noqa: B018
    with pytest.raises(AttributeError, match="did you mean rejects"):
        answers.reject  # noqa: B018


def test_repr_counts_rows_and_rejects(answers: Answers) -> None:
    assert repr(answers) == "<2 answers: funnel (2 rows), long (15 rows); 31 rejects: see .rejects>"
    assert repr(Answers({"one": LONG.head(1)})) == "<1 answer: one (1 row)>"


def test_html_has_a_table_for_each_answer_and_the_number_of_hidden_rows(answers: Answers) -> None:
    html = answers._repr_html_()
    assert "<b>funnel</b> Steps &amp; visits" in html
    assert ">a, b</td>" in html
    assert "15 rows, 5 not shown" in html
    assert "<p>2 rows</p>" in html
    assert "None" not in html


def test_html_explains_rejects_and_shows_the_first(answers: Answers) -> None:
    html = answers._repr_html_()
    assert "31 rejects: values or rows that could not be read" in html
    assert "<code>answers.rejects</code>" in html
    assert html.count(">shop.csv</td>") == 5
    assert "reject" not in Answers({"long": LONG})._repr_html_()


def test_html_is_escaped(answers: Answers) -> None:
    html = answers._repr_html_()
    assert "<script>" not in html
    assert "<b>visit</b>" not in html
    assert "&lt;b&gt;visit&lt;/b&gt;" in html


def test_html_aligns_numbers_right_and_texts_left() -> None:
    html = Answers({"q": pl.DataFrame({"name": ["ana"], "n": [3]})})._repr_html_()
    assert "<th style='text-align:left'>name</th><th style='text-align:right'>n</th>" in html
    assert "<td style='text-align:left;white-space:nowrap'>ana</td>" in html


def test_html_has_the_remarks_about_the_files() -> None:
    answers = Answers({"long": LONG})
    assert "remark" not in answers._repr_html_()
    answers.remarks = ("a < b",)
    assert "<summary>1 remark about the files</summary><ul><li>a &lt; b</li></ul>" in answers._repr_html_()


def test_a_notebook_shows_the_message_and_the_notes_of_an_error() -> None:
    problem = UsageError("no such table")
    problem.add_note("note one")
    assert problem._render_traceback_() == ["UsageError: no such table", "note one"]
