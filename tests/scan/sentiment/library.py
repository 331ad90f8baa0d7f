"""The library's own scores, which the kernels must reproduce."""

from __future__ import annotations

import polars as pl
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from cauce.scan.sentiment import vader_units

LIBRARY = SentimentIntensityAnalyzer()


def units(text: str) -> int:
    return round(LIBRARY.polarity_scores(text)["compound"] * 10_000)


def differing(texts: list[str]) -> list[tuple[str, int, int]]:
    """The texts whose score here (second) differs from the library's (third)."""
    ours = vader_units(pl.Series(texts, dtype=pl.String)).to_list()
    rows = zip(texts, ours, map(units, texts), strict=True)
    return [row for row in rows if row[1] != row[2]]
