"""Comparison of answers; a planted disagreement is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.answer_diff import difference, same

OURS = "title,rating\nOne,4.75\nTwo,1.25\nThree,\n"


def compared(tmp_path: Path, theirs: str) -> str:
    (tmp_path / "ours.csv").write_text(OURS)
    (tmp_path / "theirs.csv").write_text(theirs)
    return difference(tmp_path / "ours.csv", tmp_path / "theirs.csv")


@pytest.mark.parametrize(
    "theirs",
    [
        OURS,
        "title,rating\nThree,\nTwo,1.25\nOne,4.75\n",
        '"title","rating"\r\n"One","4.7500000000001"\r\n"Two","0.125e1"\r\n"Three",\r\n',
    ],
    ids=["the same bytes", "another order", "other quotes and digits"],
)
def test_the_same_answer(theirs: str, tmp_path: Path) -> None:
    assert compared(tmp_path, theirs) == ""


@pytest.mark.parametrize(
    ("theirs", "message"),
    [
        ("title,rating\nOne,4.75\nTwo,1.2500001\nThree,\n", "Two | 1.2500001, not Two | 1.25"),
        ("title,rating\nOne,4.75\nTvo,1.25\nThree,\n", "not Two | 1.25"),
        ("title,rating\nOne,4.75\nTwo,1.25\n", "2 rows, not 3"),
        ("title,rating\nOne,4.75\nTwo,1.25\nTwo,1.25\n", "not Three |"),
        ("title,rating\nOne,4.75\nTwo,1.25\nThree,0\n", "Three | 0, not Three |"),
        ("title,score\nOne,4.75\nTwo,1.25\nThree,\n", "the columns are title, score, not title, rating"),
    ],
    ids=["a digit", "a letter", "a row too few", "a row twice", "a null", "a column"],
)
def test_a_planted_disagreement_is_reported(theirs: str, message: str, tmp_path: Path) -> None:
    assert message in compared(tmp_path, theirs)


def test_a_missing_answer_is_reported(tmp_path: Path) -> None:
    (tmp_path / "ours.csv").write_text(OURS)
    assert difference(tmp_path / "ours.csv", tmp_path / "none.csv") == "the answer is missing"


def test_numbers_are_the_same_up_to_their_last_digits() -> None:
    assert same("75.00", "75")
    assert same("0.1", "0.10000000000000001")
    assert not same("0.1", "0.10000001")
    assert not same("0", "0.0000000001")
    assert not same("one", "One")


def test_long_ids_are_not_read_as_numbers() -> None:
    assert not same("1" * 32, "1" * 31 + "2")
    assert not same("9e99999999999999999999999999999", "8e99999999999999999999999999999")
