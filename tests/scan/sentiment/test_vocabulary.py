"""The tables against the library's lists and Python's characters, one by one."""

from __future__ import annotations

import numpy as np
from vaderSentiment.vaderSentiment import BOOSTER_DICT, NEGATE, SPECIAL_CASES

from cauce.scan.sentiment import reading
from cauce.scan.sentiment.vocabulary import pictures, vocabulary
from tests.scan.sentiment.library import LIBRARY, differing


def test_every_word_of_the_lexicon_scores_as_in_the_library() -> None:
    assert differing([case(word) for word in LIBRARY.lexicon for case in (str, str.upper, str.title)]) == []


def test_every_booster_negation_and_phrase_scores_as_in_the_library() -> None:
    words = [*BOOSTER_DICT, *NEGATE, *SPECIAL_CASES]
    assert (
        differing([f"{start}{word}{rest} good" for word in words for start in ("", "a ") for rest in ("", " a")]) == []
    )


def test_every_emoji_scores_as_in_the_library() -> None:
    assert differing([text for emoji in LIBRARY.emojis for text in (emoji, f"a{emoji} very{emoji}good")]) == []


def test_words_are_not_in_booster_list_and_lexicon_at_once() -> None:
    assert not (set(BOOSTER_DICT) | set(NEGATE)) & set(LIBRARY.lexicon)


def test_no_emoji_is_spelled_with_another() -> None:
    assert not any(set(words) & set(pictures()) for words in pictures().values())


def test_characters_have_the_class_that_python_gives_them() -> None:
    classes = vocabulary()[0].classes
    points = [point for point in range(0x80, 0x110000) if not 0xD800 <= point < 0xE000]
    assert classes.size == reading.CLASSED
    expected = [_class(chr(point)) for point in points]
    given = [int(classes[point]) if point < reading.CLASSED else 0 for point in points]
    assert given == expected


def test_each_word_is_found_in_its_own_slot() -> None:
    table = vocabulary()[0]
    keys = table.keys.reshape(-1, 3)
    numbers = np.flatnonzero(keys[:, 2])
    hashes = reading.hashed(*keys[numbers].T)
    turns = table.turns[reading.bucket_of(hashes)].astype(np.uint64)
    assert (table.slots[reading.slot_of(hashes, turns)] == numbers).all()


def _class(character: str) -> int:
    title = character.istitle() and not character.isupper()
    return (
        character.isspace() * reading.SPACE
        | character.isupper() * reading.UPPER
        | (character.islower() or title) * reading.LOWER
        | (character in pictures() or character.lower().isascii()) * reading.PICTURE
    )
