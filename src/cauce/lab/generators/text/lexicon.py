"""The vocabularies of the two styles: opinions (reviews) and plots (descriptions, overviews)."""

from __future__ import annotations

from dataclasses import dataclass

from cauce.lab.generators.draw import cumulative
from cauce.lab.generators.text.words import ADJECTIVES, GIVEN, NOUNS, PEOPLE, PLACES, VOCABULARY, Words


@dataclass(frozen=True)
class Style:
    """Patterns and words of one style; predicates by mood: neutral, positive, negative."""

    number: int
    variety: int
    openers: tuple[str, ...]
    subjects: tuple[str, ...]
    predicates: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
    shouts: tuple[str, ...]
    words: Words


ENDS = tuple(end for end, _ in VOCABULARY["ends"])
END_WEIGHTS = cumulative([weight for _, weight in VOCABULARY["ends"]])
_POOLS: Words = {"noun": NOUNS, "adj": ADJECTIVES, "place": PLACES, "person": PEOPLE, "name": GIVEN}


def _style(name: str) -> Style:
    given = VOCABULARY[name]
    return Style(
        given["number"],
        given["variety"],
        tuple(given["openers"]),
        tuple(given["subjects"]),
        (tuple(given["neutral"]), tuple(given["positive"]), tuple(given["negative"])),
        tuple(given["shouts"]),
        {**{slot: tuple(words) for slot, words in given["words"].items()}, **_POOLS},
    )


REVIEW, STORY = _style("review"), _style("story")
