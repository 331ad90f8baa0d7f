"""The hash of texts equals XXH3 of the xxhash package, for texts of every length."""

from __future__ import annotations

import random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from cauce.scan.text_hash import text_hashes


def expected(texts: list[str]) -> list[int]:
    return [xxh3_64_intdigest(text.encode()) for text in texts]


def hashes(texts: list[str]) -> list[int]:
    return text_hashes(pl.Series(texts, dtype=pl.String)).tolist()


@pytest.mark.parametrize("seed", range(3))
def test_texts_of_every_length_up_to_several_blocks(seed: int) -> None:
    letters = random.Random(seed).choices("abcdefghijklmnopqrstuvwxyz0123456789 -,.", k=5000)
    texts = ["".join(letters[start : start + size]) for size in range(2200) for start in (size % 7,)]
    assert hashes(texts) == expected(texts)


@settings(max_examples=200)
@given(st.lists(st.text(max_size=400), max_size=5))
def test_any_texts(texts: list[str]) -> None:
    assert hashes(texts) == expected(texts)


def test_a_long_text_at_the_end_of_its_buffer() -> None:
    texts = ["x", "añ😀" * 300_000]
    assert hashes(texts) == expected(texts)


def test_a_part_of_a_column_in_several_chunks() -> None:
    texts = [f"title {number}" * (number % 40) for number in range(500)]
    column = pl.concat([pl.Series(texts[:200]), pl.Series(texts[200:])], rechunk=False)[150:350]
    assert text_hashes(column).tolist() == expected(texts[150:350])


def test_texts_of_many_buffers() -> None:
    """Rows of a gathered column refer to the buffers of all columns that it was made of."""
    texts = [f"title {number} " * 3 for number in range(300)]
    column = pl.concat([pl.Series(texts[at : at + 30]) for at in range(0, 300, 30)]).gather(range(299, -1, -1))
    assert text_hashes(column).tolist() == expected(texts[::-1])


def test_a_null_is_hashed_as_the_empty_text() -> None:
    texts = ["a", None, "b" * 300]
    assert text_hashes(pl.Series(texts)).tolist() == expected(["a", "", "b" * 300])


def test_no_texts() -> None:
    assert hashes([]) == []
