"""The two scorers of a text, in whole ten-thousandths so that sums of scores are exact."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

Scorer: TypeAlias = Callable[[str], int]


def scorer(name: str) -> Scorer:
    if name == "vader":
        return vader
    if name == "textblob":
        return textblob
    raise ValueError(f"no scorer is called {name!r}")


@cache
def _analyzer() -> SentimentIntensityAnalyzer:
    return SentimentIntensityAnalyzer()


@cache
def vader(text: str) -> int:
    return _ten_thousandths(_analyzer().polarity_scores(text)["compound"])


@cache
def textblob(text: str) -> int:
    # Here, since it loads for half a second, in every process that collects tests.
    from textblob import TextBlob

    return _ten_thousandths(TextBlob(text).sentiment.polarity)


def _ten_thousandths(score: float) -> int:
    # round(score, 4) rounds the exact binary value half-even; scaling first would round twice.
    return round(round(score, 4) * 10_000)
