"""Shared by the two book tables: titles, rows planted for the queries, and the distribution of reviews."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import numpy as np

from cauce.lab.generators.draw import Draw, Ints, apportion, zipf
from cauce.lab.generators.text.words import ADJECTIVES, FAMILY, GIVEN, NOUNS, PATTERNS, PLACES, SUBJECTS, phrases

STAR_REVIEWS = 500
CLASSIC_DECADES = 10

_TITLES = PATTERNS["book_titles"]
_TITLE_WORDS = {
    "adj": [word.capitalize() for word in ADJECTIVES],
    "noun": [word.capitalize() for word in NOUNS],
    "place": PLACES,
    "name": GIVEN,
    "family": FAMILY,
    "subject": SUBJECTS,
    "number": ("2", "3", "4", "5", "7", "9", "11", "24"),
}
_DISTRIBUTED = PATTERNS["distributed_titles"]


@dataclass(frozen=True)
class Catalogue:
    """Every book's title, and for each planted kind the number within the kind, or -1."""

    titles: list[str]
    star: Ints
    classic: Ints
    distributed: Ints

    def __len__(self) -> int:
        return len(self.titles)


@dataclass(frozen=True)
class Runs:
    """Reviews are in runs, each of one book: which book, its first row, and the end of the last run."""

    book: Ints
    starts: Ints


def star_count(reviews: int) -> int:
    """The number of 1990s titles with enough reviews for the query; fewer if they would take too large a share."""
    if reviews < 4000:
        return 1 if reviews >= 1200 else 0
    return min(12, max(3, reviews // 1500))


def star_reviews(reviews: int) -> Ints:
    """Reviews of each star: the first have exactly enough, and if possible one more has one too few.

    After the first, stars go in pairs alike in number and scores, so that means tie, also at the tenth place.
    """
    count = star_count(reviews)
    enough = STAR_REVIEWS + 6 * ((np.arange(count, dtype=np.int64) + 1) // 2)
    return np.append(enough, STAR_REVIEWS - 1) if reviews >= 6000 else enough


@lru_cache(maxsize=2)
def catalogue(books: int, reviews: int, seed: int) -> Catalogue:
    draw = Draw(seed, "books", "catalogue")
    titles = phrases(draw, _TITLES, _TITLE_WORDS, books)
    places = iter(draw.order(books).tolist())
    star, classic, distributed = (np.full(books, -1, dtype=np.int64) for _ in range(3))
    _plant(star, places, len(star_reviews(reviews)))
    _plant(distributed, places, min(24, max(4, books // 300)))
    _plant(classic, places, min(40, max(1, books // 200)) * (CLASSIC_DECADES + 1))
    _retitle(draw, titles, star, distributed)
    _copy_titles(draw, titles, np.flatnonzero((star < 0) & (distributed < 0)))
    return Catalogue(titles, star, classic, distributed)


def _plant(kind: Ints, places: Iterator[int], count: int) -> None:
    for number, place in enumerate(islice(places, count)):
        kind[place] = number


def _retitle(draw: Draw, titles: list[str], star: Ints, distributed: Ints) -> None:
    nouns = _TITLE_WORDS["noun"]
    for place in np.flatnonzero(star >= 0).tolist():
        # A form that no pattern gives: a second book of this title would share its reviews.
        number = int(star[place])
        titles[place] = f"All the {nouns[number * 7]}s, all the {nouns[number * 5 + 3]}s of {PLACES[number]}"
    planted = np.flatnonzero(distributed >= 0)
    for place, title in zip(planted.tolist(), phrases(draw, _DISTRIBUTED, _TITLE_WORDS, len(planted)), strict=True):
        titles[place] = title


def _copy_titles(draw: Draw, titles: list[str], free: Ints) -> None:
    """Give some books the title of another, as it is or with other capitals, and a few none at all."""
    count = max(3, len(free) // 150)
    if len(free) < 2 * count:
        return
    chosen = free[draw.order(len(free))]
    for number, (place, source) in enumerate(zip(chosen[:count].tolist(), chosen[count:].tolist(), strict=False)):
        twin = titles[source]
        titles[place] = (twin, twin.lower(), twin.upper(), twin.capitalize())[number % 4]
    for place in chosen[2 * count : 2 * count + len(free) // 2000].tolist():
        titles[place] = ""


@lru_cache(maxsize=2)
def runs(books: int, reviews: int, seed: int) -> Runs:
    """The order of the review file: books by skewed popularity, the popular ones in several runs."""
    draw = Draw(seed, "books", "runs")
    star = catalogue(books, reviews, seed).star
    promised = star_reviews(reviews)
    stars = np.flatnonzero(star >= 0)
    others = np.flatnonzero(star < 0)[draw.order(books - len(stars))]
    counts = np.zeros(books, dtype=np.int64)
    counts[stars] = promised[star[stars]]
    noise = 40 + draw.below(120, len(others))
    counts[others] = apportion(reviews - int(counts.sum()), zipf(len(others)) * noise)
    # Popular titles have several editions, apart from each other; a star stays in one run, for its scores.
    editions = np.where((counts > 60) & (star < 0), 1 + draw.below(5, books), 1)
    book = np.repeat(np.arange(books, dtype=np.int64), editions)
    edition = np.arange(len(book)) - np.repeat(np.cumsum(editions) - editions, editions)
    part = (edition + 1) * counts[book] // editions[book] - edition * counts[book] // editions[book]
    shuffled = draw.order(len(book))
    return Runs(book[shuffled], np.concatenate([[0], np.cumsum(part[shuffled])]))
