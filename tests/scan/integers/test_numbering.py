"""Numbers of equal keys, and sums by number, are those of Python."""

from __future__ import annotations

import random

import numpy as np
import polars as pl
import pytest

from cauce.scan.csv.short_text import short_views
from cauce.scan.integers.numbering import number_keys


def expected(keys: list[object]) -> tuple[list[int], list[int]]:
    first: dict[object, int] = {}
    for row, key in enumerate(keys):
        first.setdefault(key, row)
    order = {key: number for number, key in enumerate(first)}
    return [order[key] for key in keys], list(first.values())


@pytest.mark.parametrize("distinct", [1, 3, 2_048, 2_049, 60_000])
def test_words_are_numbered_in_order_of_their_first_rows(distinct: int) -> None:
    rng = np.random.default_rng(distinct)
    keys = rng.integers(0, distinct, 50_000).astype(np.uint64) * np.uint64(0x10001)
    numbered = number_keys(keys)
    assert (numbered.numbers.tolist(), numbered.firsts.tolist()) == expected(keys.tolist())


def test_short_texts_are_numbered_by_their_views() -> None:
    rng = random.Random(1)
    texts = ["".join(rng.choices("ab", k=rng.randrange(13))) for _ in range(20_000)]
    views = short_views(pl.Series(texts))
    assert views is not None
    numbered = number_keys(views)
    assert (numbered.numbers.tolist(), numbered.firsts.tolist()) == expected(list(texts))


def test_texts_of_more_than_12_bytes_have_no_short_views() -> None:
    assert short_views(pl.Series(["a", "é" * 7])) is None


def test_views_of_a_slice_are_those_of_its_rows() -> None:
    views = short_views(pl.Series(["a", "b", "c", "b"])[1:])
    assert views is not None
    assert number_keys(views).numbers.tolist() == [0, 1, 0]


def test_no_keys_have_no_numbers() -> None:
    numbered = number_keys(np.empty(0, np.uint64))
    assert (numbered.firsts.size, len(numbered.numbers)) == (0, 0)


def test_values_are_added_by_number() -> None:
    numbered = number_keys(np.array([7, 7, 9, 7], np.uint64))
    assert numbered.sums(np.array([1, -5, 3, 10])).tolist() == [6, 3]
    assert numbered.sizes.tolist() == [3, 1]
