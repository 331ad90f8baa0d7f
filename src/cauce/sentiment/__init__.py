"""Sentiment of texts in ten-thousandths: VADER's compound score, or TextBlob's polarity rounded to 4 decimals.

Whole numbers, so that sums over any number of texts in any order are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import polars as pl

SCORERS = ("vader", "textblob")


def scored(column: str, scorer: str) -> pl.Expr:
    """The score of each text; null where there is none."""
    return pl.col(column).map_batches(_SERIES[scorer], return_dtype=pl.Int32)


def vader_units(texts: pl.Series) -> pl.Series:
    return _map(texts, _vader())


def textblob_units(texts: pl.Series) -> pl.Series:
    return _map(texts, _textblob())


_SERIES: dict[str, Callable[[pl.Series], pl.Series]] = {"vader": vader_units, "textblob": textblob_units}


def _map(texts: pl.Series, score: Callable[[str], float]) -> pl.Series:
    units = [None if text is None else round(score(text) * 10_000) for text in texts]
    return pl.Series(texts.name, units, dtype=pl.Int32)


@lru_cache(maxsize=1)
def _vader() -> Callable[[str], float]:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    scores = SentimentIntensityAnalyzer().polarity_scores
    return lambda text: float(scores(text)["compound"])


@lru_cache(maxsize=1)
def _textblob() -> Callable[[str], float]:
    from textblob import TextBlob

    # Rounded first, so that a score is the nearest ten-thousandth of the polarity as it would be printed.
    return lambda text: round(float(TextBlob(text).sentiment.polarity), 4)
