from __future__ import annotations

import itertools

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cauce.scan.cells.decode import parse_series
from cauce.scan.cells.kinds import Boolean
from tests.scan.reading import BAD, read, read_one

TRUE, FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")


def cases(word: str) -> list[str]:
    return sorted({"".join(letters) for letters in itertools.product(*((c.lower(), c.upper()) for c in word))})


@pytest.mark.parametrize("word", TRUE + FALSE)
def test_a_word_is_read_in_any_case(word: str) -> None:
    assert {read_one(Boolean(), each) for each in cases(word)} == {word in TRUE}


@pytest.mark.parametrize(
    "cell",
    [
        "2",
        "-1",
        "1.0",
        "01",
        "tru",
        "truee",
        "true ",
        " true",
        "on",
        "off",
        "null",
        "si",
        "TRUE\0",
        "ｔrue",
        "\x11",
        "P",
    ],
)
def test_anything_else_is_rejected(cell: str) -> None:
    assert read_one(Boolean(), cell) == BAD


def test_the_empty_cell_is_null() -> None:
    assert read_one(Boolean(), "") is None


@settings(max_examples=100)
@given(st.lists(st.sampled_from([*TRUE, *FALSE, "", "Yes", "x"]) | st.text(max_size=5), max_size=40))
def test_a_column_is_read_cell_by_cell(cells: list[str]) -> None:
    known = {word: word in TRUE for word in TRUE + FALSE}
    expected = [None if cell == "" else known.get(cell.lower() if cell.isascii() else cell, BAD) for cell in cells]
    assert read(Boolean(), cells) == expected


@pytest.mark.parametrize(
    "series", [pl.Series([True, False, None]), pl.Series([1, 0, None]), pl.Series(["yes", "F", None])], ids=str
)
def test_a_typed_column_is_read_by_value(series: pl.Series) -> None:
    parsed = parse_series(Boolean(), series)
    assert parsed.values.to_list() == [True, False, None]
    assert not parsed.bad.any()


def test_other_numbers_of_a_typed_column_are_rejected() -> None:
    assert parse_series(Boolean(), pl.Series([2, 1])).bad.tolist() == [True, False]
