"""Builds the lookup tables of the kernels from the installed vaderSentiment, once per process."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cauce.scan.sentiment import reading, rules
from cauce.scan.sentiment.reading import Table, bucket_of, hashed, slot_of
from cauce.scan.sentiment.rules import Rules

if TYPE_CHECKING:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

_TURNS = 16
"""More turns than any bucket of this lexicon needs: most slots are free, so few attempts fail."""


@lru_cache(maxsize=1)
def analyzer() -> SentimentIntensityAnalyzer:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    return SentimentIntensityAnalyzer()


@lru_cache(maxsize=1)
def pictures() -> dict[str, str]:
    """The emoji that VADER expands: it checks single characters, so longer emoji never match."""
    return {emoji: text for emoji, text in analyzer().emojis.items() if len(emoji) == 1}


@lru_cache(maxsize=1)
def letters() -> dict[str, str]:
    """Non-ASCII capitals whose lower case is ASCII, with the ASCII capital of the same lower case."""
    capitals = map(chr, np.flatnonzero(np.strings.isupper(_characters())).tolist())
    return {each: each.lower().upper() for each in capitals if each.lower().isascii()}


@lru_cache(maxsize=1)
def vocabulary() -> tuple[Table, Rules]:
    from vaderSentiment.vaderSentiment import BOOSTER_DICT, NEGATE, SPECIAL_CASES

    lexicon: dict[str, float] = analyzer().lexicon
    special = {tuple(phrase.split()): value for phrase, value in SPECIAL_CASES.items() if " " in phrase}
    boosting = {tuple(phrase.split()): value for phrase, value in BOOSTER_DICT.items() if " " in phrase}
    phrases = [*special, *boosting]
    others = [*rules.RULE_WORDS, *BOOSTER_DICT, *NEGATE, *(word for phrase in phrases for word in phrase)]
    numbers = _numbered([word for word in others if word not in lexicon], reading.CONTRACTION + 1)
    assert len(numbers) + reading.CONTRACTION < rules.LEXICAL
    numbers |= _numbered([*rules.RULE_LEXICAL_WORDS, *lexicon], rules.LEXICAL)

    roles = np.zeros(max(numbers.values()) + 1, np.uint8)
    weights = np.zeros(roles.size, np.float64)
    roles[reading.CONTRACTION] = rules.NEGATES
    weights[list(numbers.values())] = [BOOSTER_DICT.get(word) or lexicon.get(word, 0.0) for word in numbers]
    for role, words in (
        (rules.BOOSTS, BOOSTER_DICT),
        (rules.NEGATES, NEGATE),
        (rules.OPENS, [phrase[0] for phrase in phrases]),
        (rules.FOLLOWS, [phrase[1] for phrase in phrases]),
    ):
        roles[[numbers[word] for word in words if word in numbers]] |= role
    rows = [[numbers[word] for word in phrase] + [rules.NO_WORD] * (3 - len(phrase)) for phrase in phrases]
    values = np.array([*special.values(), *boosting.values()], np.float64)
    keys = _keys(numbers, roles.size)
    return (
        Table(_classes(), *_placed(keys), keys.ravel()),
        Rules(roles, weights, np.array(rows, np.uint16), values, len(special)),
    )


def _numbered(words: list[str], first: int) -> dict[str, int]:
    """Numbers the words, without those that no lower-case token can equal: phrases, capitals, non-ASCII."""
    possible = [word for word in dict.fromkeys(words) if word.isascii() and word == word.lower() and " " not in word]
    return {word: first + row for row, word in enumerate(possible)}


def _keys(numbers: dict[str, int], rows: int) -> NDArray[np.uint64]:
    text = bytearray(24 * rows)
    for word, number in numbers.items():
        assert len(word) <= reading.KEY_BYTES
        text[24 * number : 24 * number + len(word)] = word.encode()
        text[24 * number + 23] = len(word)
    return np.frombuffer(text, "<u8").astype(np.uint64).reshape(rows, 3)


def _placed(keys: NDArray[np.uint64]) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
    """The turn of each bucket and the word in each slot, such that no two words share a slot."""
    words = np.flatnonzero(keys[:, 2])
    hashes = hashed(*keys[words].T)
    buckets: dict[int, list[int]] = {}
    for row, bucket in enumerate(bucket_of(hashes).tolist()):
        buckets.setdefault(bucket, []).append(row)
    choices = slot_of(hashes, np.arange(_TURNS, dtype=np.uint64)[:, None]).tolist()
    turns = np.zeros(reading.BUCKETS, np.uint8)
    slots = np.full(reading.SLOTS, reading.UNKNOWN, np.uint16)
    taken: set[int] = set()
    # The fullest buckets choose first, while most slots are free.
    for bucket, rows in sorted(buckets.items(), key=lambda item: -len(item[1])):
        turns[bucket] = turn = _fitting(choices, rows, taken)
        taken.update(choices[turn][row] for row in rows)
    slots[slot_of(hashes, turns[bucket_of(hashes)].astype(np.uint64))] = words
    return turns, slots


def _fitting(choices: list[list[int]], rows: list[int], taken: set[int]) -> int:
    for turn, slot in enumerate(choices):
        places = {slot[row] for row in rows}
        if len(places) == len(rows) and taken.isdisjoint(places):
            return turn
    raise AssertionError("no displacement places the words of a bucket in free slots")


def _characters() -> NDArray[np.str_]:
    """All characters that have a class, each at its number. In place of ASCII and of surrogates, which are not
    characters, stands one that has none."""
    points = np.arange(reading.CLASSED, dtype=np.uint32)
    points[:0x80] = 1
    points[0xD800:0xE000] = 1
    return points.view("U1")


def _classes() -> NDArray[np.uint8]:
    """The class of each non-ASCII character, from Python's Unicode tables."""
    characters = _characters()
    upper, title = np.strings.isupper(characters), np.strings.istitle(characters)
    classes = np.zeros(characters.size, np.uint8)
    classes[upper] |= reading.UPPER
    # A capital is also title case; a character that is only title case, such as "ǅ", makes a word not all capitals.
    classes[np.strings.islower(characters) | (title & ~upper)] |= reading.LOWER
    classes[np.strings.isspace(characters)] |= reading.SPACE
    classes[[ord(each) for each in (*pictures(), *letters())]] |= reading.PICTURE
    return classes
