"""TextBlob's polarity of a text in linear time; the library takes quadratic time.

The lexicon, the patterns and the rules are the library's; only the loops that reread the same characters are
replaced. Scores agree to the last bit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from textblob import _text as library
from textblob.en import sentiment

from cauce.process import progress

_MARKS = frozenset(library.PUNCTUATION) - {"."}
_LONGEST_CONTRACTION = max(map(len, library.replacements))
_LONGEST_ABBREVIATION = max(map(len, library.ABBREVIATIONS))
_LETTERS = re.compile(r"(?:[A-Za-z]\.)*")
_TITLE = re.compile(r"[A-Z][b|c|d|f|g|h|j|k|l|m|n|p|q|r|s|t|v|w|x|z]*")
_ENDS = frozenset(("...", ".", "!", "?", library.EOS))
_CLOSES = _ENDS | {"'", '"', "”", "’", ")"}
_BALANCED = frozenset("'\"")
_TICK_WORDS = 20_000
_WINDOW = 1 << 15
"""Characters to search between two ticks."""
_LONGEST_MATCH = 2 * max(len(face) for faces in library.EMOTICONS.values() for face in faces)
"""Maximum match length of both patterns: an emoticon may have a space after each of its characters."""


class _Known(NamedTuple):
    """A word of the lexicon, and whether it modifies the next one."""

    polarity: float
    intensity: float
    modifies: bool


@lru_cache(maxsize=1)
def _lexicon() -> dict[str, _Known]:
    if not len(sentiment):
        sentiment.load()
    every = {word: (senses[None], any(each in senses for each in sentiment.modifiers)) for word, senses in _senses()}
    return {word: _Known(sense[0], sense[2], modifies) for word, (sense, modifies) in every.items()}


def _senses() -> Iterator[tuple[str, dict[str | None, tuple[float, float, float]]]]:
    yield from ((word, senses) for word, senses in dict.items(sentiment) if None in senses)


@lru_cache(maxsize=1)
def _emoticons() -> dict[str, float]:
    moods: dict[str, float] = {}
    for (_, score), faces in library.EMOTICONS.items():
        for face in faces:
            moods.setdefault(face.lower(), score)
    return moods


def polarity(text: str) -> float:
    """The polarity, from -1.0 to 1.0; 0.0 if no word is known."""
    scores = _scores(_counted(_words(text)))
    return sum(scores, 0) / float(len(scores) or 1)


def _counted(words: Iterable[str]) -> Iterator[str]:
    for number, word in enumerate(words):
        _tick_at(number)
        yield word


def _tick_at(number: int) -> None:
    if number % _TICK_WORDS == 0:
        progress.tick()


def _tick_over(text: str) -> None:
    """Ticks after a pass over a text that may be long."""
    if len(text) > _WINDOW:
        progress.tick()


def _words(text: str) -> Iterator[str]:
    """The library's tokens: punctuation is split off, then emoticons are joined again."""
    for sentence in _sentences(list(_counted(_tokens(text)))):
        joined = _substituted(library.RE_SARCASM, lambda found: "(!)", " ".join(sentence))
        joined = _substituted(
            library.RE_EMOTICONS, lambda found: found.group(1).replace(" ", "") + found.group(2), joined
        )
        yield from joined.lower().split()


def _substituted(pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str], text: str) -> str:
    """As `pattern.sub`, with a tick after each window of the text. No match may be empty or exceed the maximum
    length."""
    pieces: list[str] = []
    done = 0
    for end in range(_WINDOW, len(text) + _WINDOW, _WINDOW):
        # A match that begins in the window ends before the searched range does, so that end never acts as a text end.
        for found in pattern.finditer(text, max(end - _WINDOW, done), end + _LONGEST_MATCH):
            if found.start() >= end:
                break
            pieces += (text[done : found.start()], replace(found))
            done = found.end()
        _tick_over(text)
    return "".join((*pieces, text[done:]))


def _tokens(text: str) -> Iterator[str]:
    for short, apart in library.replacements.items():
        text = text.replace(short, apart)
        _tick_over(text)
    for quote in "“”‘’'\"":
        text = text.replace(quote, f" {quote} ")
        _tick_over(text)
    text = re.sub(r"\n{2,}", f" {library.EOS} ", text.replace("\r\n", "\n"))
    for token in text.split():
        yield from _split(token)


def _split(token: str) -> Iterator[str]:
    """A token without its surrounding punctuation, and the punctuation as separate tokens."""
    begin, end = 0, len(token)
    while begin < end and token[begin] in _MARKS and not _is_contraction(token, begin, end):
        yield token[begin]
        begin += 1
    tail: list[str] = []
    if begin < end and (token[end - 1] in _MARKS or token[end - 1] == "."):
        end = _split_tail(token, begin, end, tail)
    if begin < end:
        yield token[begin:end]
    yield from reversed(tail)


def _split_tail(token: str, begin: int, end: int, tail: list[str]) -> int:
    """The end of the token without its trailing punctuation."""
    letters = title = -1
    while begin < end and (token[end - 1] in _MARKS or token[end - 1] == "."):
        if _is_contraction(token, begin, end):
            break
        if token[end - 1] in _MARKS:
            tail.append(token[end - 1])
            end -= 1
        if token.endswith("...", begin, end):
            tail.append("...")
            end -= 3
            while end > begin and token[end - 1] == ".":
                end -= 1
        if end > begin and token[end - 1] == ".":
            if letters < 0:
                # The length that looks like an abbreviation: computed once, because it is independent of the end.
                letters = _end_of(_LETTERS, token, begin)
                title = _end_of(_TITLE, token, begin)
            if _is_abbreviation(token, begin, end, letters, title):
                break
            tail.append(".")
            end -= 1
    return end


def _is_contraction(token: str, begin: int, end: int) -> bool:
    return end - begin <= _LONGEST_CONTRACTION and token[begin:end] in library.replacements


def _end_of(pattern: re.Pattern[str], token: str, begin: int) -> int:
    found = pattern.match(token, begin)
    return begin if found is None else found.end()


def _is_abbreviation(token: str, begin: int, end: int, letters: int, title: int) -> bool:
    """Whether it is in the list, letters each with a period, or a capital and consonants before the period."""
    size = end - begin
    if size <= _LONGEST_ABBREVIATION and token[begin:end] in library.ABBREVIATIONS:
        return True
    return (size % 2 == 0 and end <= letters) or (size > 2 and end - 1 <= title)


def _sentences(tokens: list[str]) -> Iterator[list[str]]:
    begin = at = 0
    while at < len(tokens):
        _tick_at(at)
        if tokens[at] in _ENDS:
            # Quotes that close nothing belong to the next sentence.
            while at < len(tokens) and tokens[at] in _CLOSES and tokens[at] not in _BALANCED:
                _tick_at(at)
                at += 1
            yield [token for token in tokens[begin:at] if token != library.EOS]
            begin = at
        at += 1
    yield tokens[begin:at]


def _scores(words: Iterable[str]) -> list[float]:
    """The polarity of each known word or emoticon, adjusted for the words around it."""
    lexicon, emoticons = _lexicon(), _emoticons()
    scores: list[float] = []
    intensity, negated = 1.0, False
    modifier: str | None = None
    negation: str | None = None

    def close() -> None:
        if scores and negated:
            scores[-1] *= -0.5

    for word in words:
        known = lexicon.get(word)
        if known is not None:
            if modifier is None:
                close()
                scores.append(known.polarity)
                intensity, negated = known.intensity, False
            else:
                scores[-1] = max(-1.0, min(known.polarity * intensity, 1.0))
                intensity = known.intensity
            if negation is not None:
                intensity, negated = 1.0 / intensity, True
            modifier = word if known.modifies else None
            negation = word if word in sentiment.negations else None
            continue
        if word in sentiment.negations:
            negation = word
        elif negation is not None and len(word.strip("'")) > 1:
            negation = None
        if negation is not None and modifier is not None and sentiment.modifier(modifier):
            negation, negated = None, True
        elif modifier is not None and len(word) > 2:
            modifier = None
        if word == "!" and scores:
            scores[-1] = max(-1.0, min(scores[-1] * 1.25, 1.0))
        if word == "(!)":
            close()
            scores.append(0.0)
            intensity, negated = 1.0, False
        if not word.isalpha() and len(word) <= 5 and word not in library.PUNCTUATION:
            mood = emoticons.get(word)
            if mood is not None:
                close()
                scores.append(mood)
                intensity, negated = 1.0, False
    close()
    return scores
