"""`cauce.run`: the answers as frames, for those who have Python before them and not a shell."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import cauce
from cauce.errors import DataNotFound, UnknownName
from tests.cli.running import small_books


def test_an_answer_is_a_frame(tmp_path: Path) -> None:
    small_books(tmp_path)
    answers = cauce.run("books", tmp_path)
    assert list(answers) == ["q1", "q2", "q3", "q4", "q5"]
    assert answers["q3"].equals(pl.DataFrame({"title": ["T"], "authors": [["A", "B"]], "reviews": [500]}))
    assert answers.rejects.rows() == [("books_data.csv", 4, "authors", "not a list of texts", "nobody")]


def test_queries_partitions_and_parameters_can_be_chosen(tmp_path: Path) -> None:
    small_books(tmp_path)
    answers = cauce.run("books", str(tmp_path), ["q5", "q4"], partitions=3, sentiment="textblob")
    assert list(answers) == ["q4", "q5"]
    assert answers["q4"].rows() == [("T", 4.0)]
    assert answers["q5"].is_empty()


def test_without_rejects_their_frame_is_empty(tmp_path: Path) -> None:
    small_books(tmp_path)
    assert cauce.run("books", tmp_path, ["q5"]).rejects.is_empty()


def test_wrong_requests_raise(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="q9"):
        cauce.run("books", tmp_path, ["q9"])
    with pytest.raises(DataNotFound, match=r"books_data\.csv"):
        cauce.run("books", tmp_path)
