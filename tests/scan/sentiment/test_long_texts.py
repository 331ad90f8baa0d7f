"""Long texts: scores take linear time and equal those of the libraries."""

from __future__ import annotations

import time

import polars as pl
import pytest

from cauce.process import progress
from cauce.scan.sentiment import textblob_units, vader_units
from cauce.scan.sentiment.rules import FEW_WORDS
from tests.scan.sentiment.library import differing

KELVIN = "\u212a"
MIXED = "good bad but awful great :) terrible not nice so fun sad VERY ugly love hate but best worst "

VADER_TEXTS = {
    "a but among many words": "good bad but " * 300_000,
    "equal valences before a but": "good " * 400_000 + "but " + "good " * 400_000,
    "a kelvin sign": f"{KELVIN} " + "good bad " * 400_000,
    "a sum that nearly ties": "boring, weak, love! " + "good x " * 100_000 + "bad x " * 76_000,
    "emoji": "😀 good " * 200_000,
    "one word": "!" * 4_000_000,
}
TEXTBLOB_TEXTS = {
    "exclamation marks": "!!!" * 130_000,
    "brackets": "(" * 400_000,
    "abbreviations": "A." * 100_000 + "1" + ".)" * 50_000,
    "consonants": "B" + "b" * 200_000 + "1" + ".)" * 50_000,
    "negations in a chain": "very not a " * 40_000,
}
MOST_SECONDS = 20
"""CPU time: a hundred times the need, and a fraction of quadratic time."""


def seconds(texts: list[str], scorer: object) -> float:
    series = pl.Series(texts)
    assert callable(scorer)
    before = time.process_time()
    scorer(series)
    return time.process_time() - before


@pytest.mark.parametrize("kind", VADER_TEXTS)
def test_vader_scores_four_megabytes_at_once(kind: str) -> None:
    vader_units(pl.Series(["good but bad 😀"]))
    assert seconds([VADER_TEXTS[kind]], vader_units) < MOST_SECONDS


@pytest.mark.parametrize("kind", TEXTBLOB_TEXTS)
def test_textblob_scores_four_hundred_kilobytes_at_once(kind: str) -> None:
    assert seconds([TEXTBLOB_TEXTS[kind]], textblob_units) < MOST_SECONDS


def assert_not_quadratic(text: str, scorer: object) -> None:
    """In quadratic time, four times the text takes sixteen times as long: two seconds or more for these texts."""
    seconds(["good but bad"], scorer)
    assert seconds([text * 4], scorer) < 8 * seconds([text], scorer) + 0.2


def test_vader_does_not_take_quadratic_time() -> None:
    assert_not_quadratic("good bad but " * 15_000, vader_units)


def test_textblob_does_not_take_quadratic_time() -> None:
    assert_not_quadratic("!!!" * 11_000, textblob_units)


@pytest.mark.parametrize(
    "words", [FEW_WORDS - 1, FEW_WORDS, FEW_WORDS + 1, 300, pytest.param(1500, marks=pytest.mark.slow)]
)
def test_words_around_a_but_score_as_in_the_library(words: int) -> None:
    pattern = MIXED.split()
    sample = [" ".join((pattern * words)[start : start + words]) for start in range(0, 60, 7)]
    sample += [text.replace("but", "x", 1) for text in sample]
    assert differing(sample) == []


def test_a_kelvin_sign_is_a_letter_as_in_the_library() -> None:
    sample = [
        f"{KELVIN}ind of good",
        f"than{KELVIN}s 😀{KELVIN}iss",
        f"{KELVIN}ILL it",
        f"so {KELVIN} good",
        f"o{KELVIN}",
    ]
    assert differing(sample) == []


def test_scores_are_ticked() -> None:
    ticks: list[int] = []
    progress.listen(lambda: ticks.append(1))
    vader_units(pl.Series(["good " * 2_000_000, "bad " * 6_000_000, "fun"]))
    by_vader = len(ticks)
    textblob_units(pl.Series(["good " * 200_000]))
    progress.listen(None)
    assert by_vader >= 2
    assert len(ticks) - by_vader >= 4
