"""Probing a set of texts with located cells gives the same result as building and comparing their texts."""

from __future__ import annotations

import random

import numpy as np
import polars as pl
import pytest

from cauce.scan.cells.kinds import Text
from cauce.scan.csv.block import CsvBlock
from cauce.scan.csv.located import padded
from cauce.scan.csv.lookup import TextSet
from cauce.scan.tables import Column, TableSpec

SPEC = TableSpec("t", ("t.csv",), {"key": Column("key", Text()), "other": Column("other", Text())})


def block(data: bytes) -> CsvBlock:
    return CsvBlock(SPEC, "t.csv", ("key", "other"), 2, padded(data), len(data), frozenset({"key", "other"}))


def test_cells_are_found_in_place() -> None:
    cells = block(b"tea,1\ncoffee,2\n,3\nte,4\nteas,5\n")
    texts = TextSet(pl.Series(["tea", "coffee", None, "tea"]))
    assert (cells.find("key", texts, None) > 0).tolist() == [True, True, False, False, False]
    assert (cells.find("key", texts, np.array([3, 1])) > 0).tolist() == [False, True]


def test_doubled_quotes_and_invalid_utf_8_take_the_slow_path() -> None:
    cells = block(b'"a ""b""",1\n"a b",2\n\xff,3\n\xc3\xa9,4\n\xc3\xa8,5\n')
    texts = TextSet(pl.Series(['a "b"', "\ufffd", "é"]))
    assert (cells.find("key", texts, None) > 0).tolist() == [True, False, True, True, False]


def test_empty_set_contains_no_text() -> None:
    cells = block(b"tea,1\n,2\n\xff,3\n")
    assert not cells.find("key", TextSet(pl.Series([], dtype=pl.String)), None).any()


def test_texts_that_differ_only_in_the_middle_are_distinguished() -> None:
    one, other = "x" * 40 + "1" + "y" * 40, "x" * 40 + "2" + "y" * 40
    cells = block(f"{one},1\n{other},2\n".encode())
    assert (cells.find("key", TextSet(pl.Series([one])), None) > 0).tolist() == [True, False]


@pytest.mark.parametrize("seed", range(5))
def test_random_cells_are_found_as_polars_finds_them(seed: int) -> None:
    rng = random.Random(seed)
    words = ["".join(rng.choices('ab"é ,\n', k=rng.randrange(12))) for _ in range(60)]
    chosen = [rng.choice(words) for _ in range(500)]
    quoted = "".join('"' + word.replace('"', '""') + '",x\n' for word in chosen).encode()
    wanted = pl.Series([word or None for word in rng.sample(words, 25)], dtype=pl.String)
    built = pl.Series([word or None for word in chosen])
    expected = built.is_in(wanted.drop_nulls().implode()).fill_null(False).to_list()
    assert (block(quoted).find("key", TextSet(wanted), None) > 0).tolist() == expected


@pytest.mark.parametrize("height", [0, 1, 40, 12_000])
@pytest.mark.parametrize("longest", [4, 40])
def test_built_texts_have_the_numbers_of_their_places_in_the_set(height: int, longest: int) -> None:
    rng = random.Random(height + longest)
    words = [""] + ["".join(rng.choices('ab"é ,', k=rng.randrange(longest))) for _ in range(400)]
    known: list[str | None] = [None, *rng.sample(words, 200), ""]
    numbers: dict[str | None, int] = {}
    for word in known:
        if word is not None:
            numbers.setdefault(word, len(numbers) + 1)
    texts = [rng.choice([*words, None]) for _ in range(height)]
    # A slice, so that the texts do not begin at the start of their buffers.
    built = pl.Series(["before", *texts, "after"], dtype=pl.String)[1:-1]
    found = TextSet(pl.Series(known)).numbers(built)
    assert found.tolist() == [numbers.get(text, 0) for text in texts]


def test_an_empty_text_is_not_in_a_set_without_it() -> None:
    assert TextSet(pl.Series(["tea"])).numbers(pl.Series(["", None, "tea"])).tolist() == [0, 0, 1]
