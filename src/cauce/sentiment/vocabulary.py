"""What the kernel must know, read from the installed vaderSentiment and laid out in tables once per process."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cauce.sentiment import kernel
from cauce.sentiment.kernel import Vocabulary, bucket_of, hashed, slot_of

if TYPE_CHECKING:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

_TURNS = 64
"""More than any bucket needs: a slot is free more often than not, even for the last."""


@lru_cache(maxsize=1)
def analyzer() -> SentimentIntensityAnalyzer:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    return SentimentIntensityAnalyzer()


@lru_cache(maxsize=1)
def pictures() -> dict[str, str]:
    """The emoji that VADER expands: it looks at one character at a time, so longer ones never count."""
    return {emoji: text for emoji, text in analyzer().emojis.items() if len(emoji) == 1}


@lru_cache(maxsize=1)
def vocabulary() -> Vocabulary:
    from vaderSentiment.vaderSentiment import BOOSTER_DICT, NEGATE, SPECIAL_CASES

    lexicon: dict[str, float] = analyzer().lexicon
    special = [(phrase.split(), value) for phrase, value in SPECIAL_CASES.items() if " " in phrase]
    boosting = [(phrase.split(), value) for phrase, value in BOOSTER_DICT.items() if " " in phrase]
    in_phrases = [word for phrase, _ in special + boosting for word in phrase]
    numbers = _numbered(lexicon, [*BOOSTER_DICT, *NEGATE, *in_phrases])

    roles = np.zeros(max(numbers.values()) + 1, np.uint8)
    weights = np.zeros(roles.size, np.float64)
    roles[kernel.CONTRACTION] = kernel.NEGATES
    for word, number in numbers.items():
        weights[number] = BOOSTER_DICT.get(word, lexicon.get(word, 0.0))
        roles[number] = (kernel.BOOSTS if word in BOOSTER_DICT else 0) | (kernel.NEGATES if word in NEGATE else 0)
    phrases = np.full((len(special) + len(boosting), 3), kernel.NO_WORD, np.uint16)
    for row, (phrase, _) in enumerate(special + boosting):
        phrases[row, : len(phrase)] = [numbers[word] for word in phrase]
        roles[phrases[row, 0]] |= kernel.OPENS
        roles[phrases[row, 1]] |= kernel.FOLLOWS
    values = np.array([float(value) for _, value in special + boosting])
    keys = _keys(numbers, roles.size)
    return Vocabulary(_classes(), *_placed(keys), keys.ravel(), roles, weights, phrases, values, len(special))


def _numbered(lexicon: dict[str, float], others: list[str]) -> dict[str, int]:
    """Each word's number; left out are those that no token can be: with a space, a capital, or outside ASCII."""
    plain = [word for word in [*kernel.RULE_WORDS, *others] if word not in lexicon]
    lexical = [*kernel.RULE_LEXICAL_WORDS, *lexicon]
    possible = {word: word.isascii() and word == word.lower() and " " not in word for word in plain + lexical}
    low = [word for word in dict.fromkeys(plain) if possible[word]]
    high = [word for word in dict.fromkeys(lexical) if possible[word]]
    first = kernel.CONTRACTION + 1
    assert first + len(low) <= kernel.LEXICAL
    return dict(zip(low, range(first, kernel.LEXICAL), strict=False)) | {
        word: kernel.LEXICAL + row for row, word in enumerate(high)
    }


def _keys(numbers: dict[str, int], rows: int) -> NDArray[np.uint64]:
    text = bytearray(24 * rows)
    for word, number in numbers.items():
        assert len(word) <= kernel.KEY_BYTES
        text[24 * number : 24 * number + len(word)] = word.encode()
        text[24 * number + 23] = len(word)
    return np.frombuffer(text, "<u8").astype(np.uint64).reshape(rows, 3)


def _placed(keys: NDArray[np.uint64]) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """The turn of each bucket and the word in each slot, such that no two words share one."""
    hashes = hashed(keys[:, 0], keys[:, 1], keys[:, 2])
    buckets: dict[int, list[int]] = {}
    for number in np.flatnonzero(keys[:, 2]).tolist():
        buckets.setdefault(int(bucket_of(hashes[number])), []).append(number)
    choices = slot_of(hashes, np.arange(_TURNS, dtype=np.uint64)[:, None]).tolist()
    turns = np.zeros(kernel.BUCKETS, np.uint16)
    slots = [kernel.UNKNOWN] * kernel.SLOTS
    # The fullest buckets choose first, while there is most room.
    for bucket, numbers in sorted(buckets.items(), key=lambda item: -len(item[1])):
        turn = next(turn for turn, places in enumerate(choices) if _fits(slots, [places[n] for n in numbers]))
        turns[bucket] = turn
        for number in numbers:
            slots[choices[turn][number]] = number
    return turns, np.array(slots, np.uint16)


def _fits(slots: list[int], places: list[int]) -> bool:
    return len(set(places)) == len(places) and all(slots[place] == kernel.UNKNOWN for place in places)


def _classes() -> NDArray[np.uint8]:
    """The class of each character, by Python's own tables."""
    points = np.arange(kernel.CLASSED, dtype=np.uint32)
    # NumPy strings cannot hold surrogates, nor do texts.
    points[0xD800:0xE000] = 1
    points[:0x80] = 1
    characters = points.view("U1")
    upper, title = np.strings.isupper(characters), np.strings.istitle(characters)
    lower = np.strings.islower(characters) | (title & ~upper)
    classes = upper * kernel.UPPER + lower * kernel.LOWER + np.strings.isspace(characters) * kernel.SPACE
    classes = classes.astype(np.uint8)
    for point in np.flatnonzero(upper | title).tolist():
        if chr(point).lower().isascii():
            classes[point] |= kernel.ODD
    classes[[ord(emoji) for emoji in pictures()]] |= kernel.PICTURE
    return classes
