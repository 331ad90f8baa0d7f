"""The kernel against the library, on texts made to find where they part."""

from __future__ import annotations

import polars as pl
import pytest
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from cauce.sentiment import vader_units
from tests.sentiment.texts import texts

LIBRARY = SentimentIntensityAnalyzer()


def differing(sample: list[str]) -> list[tuple[str, int, int]]:
    units = vader_units(pl.Series(sample, dtype=pl.String)).to_list()
    expected = [round(LIBRARY.polarity_scores(text)["compound"] * 10_000) for text in sample]
    return [row for row in zip(sample, units, expected, strict=True) if row[1] != row[2]]


def test_twenty_thousand_texts_score_as_in_the_library() -> None:
    assert differing(list(texts(seed=1, count=20_000))) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 105))
def test_a_hundred_thousand_texts_score_as_in_the_library(seed: int) -> None:
    assert differing(list(texts(seed=seed, count=20_000))) == []
