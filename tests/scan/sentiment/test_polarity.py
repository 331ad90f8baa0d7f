"""TextBlob's polarity, equal to the library's to the last bit."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest
from textblob import TextBlob
from textblob import _text as library
from textblob.en import sentiment

from cauce.process import progress
from cauce.scan.sentiment.polarity import _WINDOW, _substituted, polarity

WORDS = """\
not no never n't don't very really extremely terribly a is it good bad great terrible ugly! (not) (very) (!)
:) :-) : ) :'( 8) 8-) o.O °O° <3 ♥ ... .. .... . ? ! !! , ( ) [ ] -- & @x #y ' " “ ” ’ ‘ U.S. Mr. e.g. etc.
vs. w/ Bbb. B|b. Xz. A.A.1.).). x.).) n't. 's 'd 'll N'T 'D can't isn't END-OF-SENTENCE 1.5 é İ ß
""".split()  # noqa: SIM905
SPACES = ["\n\n", "\r\n", "\n", "\t", "\u00a0", "\x1c", "\x85", "\u2028", "( ! )"]


def drawn(seed: int, count: int) -> list[str]:
    rng = random.Random(seed)
    known = sorted(sentiment.keys())
    texts = []
    for _ in range(count):
        size = rng.randint(1, 14)
        words = [rng.choice(rng.choice([WORDS, WORDS, SPACES, known])) for _ in range(size)]
        texts.append(rng.choice(["", " ", " "]).join(words))
        texts.append("".join(rng.choice(".!?()'\"Aab:; \n") for _ in range(size)))
    return texts


def differing(texts: list[str]) -> list[str]:
    return [text for text in texts if polarity(text) != TextBlob(text).sentiment.polarity]


def test_drawn_texts_score_as_in_the_library() -> None:
    assert differing(drawn(seed=1, count=2_000)) == []


FACES = "".join(sorted({each for faces in library.EMOTICONS.values() for face in faces for each in face}))
PATTERNS = {"sarcasm": library.RE_SARCASM, "emoticons": library.RE_EMOTICONS}


def faces(seed: int, count: int) -> list[str]:
    """Texts of emoticons and of their characters, with spaces in and after them."""
    rng = random.Random(seed)
    known = [face for faces in library.EMOTICONS.values() for face in faces] + ["(!)"]
    texts = []
    for _ in range(count):
        drawn = [rng.choice(["".join(rng.choices(FACES + "(!) ", k=3)), *rng.choices(known, k=3)]) for _ in range(12)]
        apart = [rng.choice([face, " ".join(face)]) for face in drawn]
        texts.append("".join(each + rng.choice(["", " ", " ", "  ", "\n"]) for each in apart))
    return texts


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("window", [1, 2, 3, 7, 10, 11, 40])
def test_a_pattern_matches_in_windows_as_in_the_whole_text(
    monkeypatch: pytest.MonkeyPatch, pattern: str, window: int
) -> None:
    monkeypatch.setattr("cauce.scan.sentiment.polarity._WINDOW", window)
    compiled = PATTERNS[pattern]
    for text in ["", *faces(seed=window, count=500)]:
        assert _substituted(compiled, marked, text) == compiled.sub(marked, text)


def marked(found: re.Match[str]) -> str:
    return f"<{found.group()}>"


@pytest.mark.parametrize("window", [1, 7, 40])
def test_emoticons_score_in_windows_as_in_the_library(monkeypatch: pytest.MonkeyPatch, window: int) -> None:
    monkeypatch.setattr("cauce.scan.sentiment.polarity._WINDOW", window)
    assert differing(faces(seed=window, count=300)) == []


class Measured:
    """A pattern that counts the characters it searches."""

    searched = 0

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern

    def finditer(self, text: str, begin: int, end: int) -> Iterator[re.Match[str]]:
        Measured.searched += min(end, len(text)) - begin
        return self._pattern.finditer(text, begin, end)


def test_patterns_are_applied_to_few_characters_between_two_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[int] = []

    def tick() -> None:
        searched.append(Measured.searched)
        Measured.searched = 0

    for name in ("RE_SARCASM", "RE_EMOTICONS"):
        monkeypatch.setattr(library, name, Measured(getattr(library, name)))
    monkeypatch.setattr(progress, "tick", tick)
    text = ": ( good " * 100_000
    polarity(text)
    assert sum(searched) >= 2 * len(text), "by both patterns"
    assert max(searched) < 2 * _WINDOW


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 105))
def test_many_drawn_texts_score_as_in_the_library(seed: int) -> None:
    assert differing(drawn(seed, count=20_000)) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "!",
        "not",
        "very",
        "really not good",
        "not a very good one",
        "very, very good",
        "good!!!!!!",
        "(!)",
        "so-so :-(",
    ],
)
def test_a_text_scores_as_in_the_library(text: str) -> None:
    assert differing([text]) == []
