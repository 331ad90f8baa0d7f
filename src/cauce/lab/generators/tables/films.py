"""Shared by the movie tables: ids, films planted for the queries, and the popularity of each film."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import numpy as np

from cauce.lab.generators.draw import Draw, Ints, apportion, zipf

MOVIES, RATINGS, CREDITS = 45_466, 26_024_289, 45_476
# Kinds of film: the plain ones, those planted for the queries, the records broken as in the real file, and
# the ones that repeat the record before them.
PLAIN, COPRODUCTION, ARGENTINE, HIT, SOLO, SHIFTED, SHORT, TWIN = range(8)
BLOCK_ROWS = 2048
TABLE_SLOTS = 1 << 18


@dataclass(frozen=True)
class Films:
    """Every film's id and kind, and its number within the kind."""

    ids: Ints
    kind: Ints
    number: Ints

    def __len__(self) -> int:
        return len(self.ids)

    def where(self, *kinds: int) -> Ints:
        return np.flatnonzero(np.isin(self.kind, kinds))


@lru_cache(maxsize=2)
def films(movies: int, seed: int) -> Films:
    draw = Draw(seed, "movies", "films")
    ids = 2 + 10 * draw.order(movies) + draw.below(10, movies)
    kind, number = np.zeros(movies, dtype=np.int64), np.arange(movies, dtype=np.int64)
    places = iter(draw.order(movies).tolist())
    for which, count in (
        (HIT, max(4, movies // 15)),
        (ARGENTINE, min(160, max(5, movies // 250))),
        (COPRODUCTION, min(24, max(2, movies // 400))),
        (SOLO, min(9, max(6, movies // 100))),
        (SHORT, min(3, 1 + movies // 400)),
        (SHIFTED, min(3, 1 + movies // 400)),
    ):
        for turn, place in enumerate(islice(places, count)):
            kind[place], number[place] = which, turn
    _plant_twins(ids, kind, np.array(list(places), dtype=np.int64))
    return Films(ids, kind, number)


def _plant_twins(ids: Ints, kind: Ints, places: Ints) -> None:
    """Makes some records repeat the one before them, most often one that a query asks for.

    Both lie in one block, because a block is written without a look at the others.
    """
    places = places[(places % BLOCK_ROWS > 0) & (kind[places - 1] <= ARGENTINE) & (kind[places] == PLAIN)]
    wanted = places[kind[places - 1] != PLAIN][: 1 + len(ids) // 4000]
    others = places[kind[places - 1] == PLAIN][: len(ids) * 20 // MOVIES]
    for place in np.concatenate([wanted, others]).tolist():
        ids[place], kind[place] = ids[place - 1], TWIN


@lru_cache(maxsize=2)
def rated_ids(movies: int, seed: int) -> tuple[Ints, Ints]:
    """The ids that ratings go to: all of them, and a table of slots that holds the popular ones many times.

    Every second film is left out of the table, so that it has a few ratings only and its mean often ties.
    """
    draw = Draw(seed, "movies", "popularity")
    known = films(movies, seed).ids
    strangers = 10 * movies + 3 + 7 * np.arange(max(1, movies // 3), dtype=np.int64)
    every = np.concatenate([known, strangers])
    popular = every[draw.order(len(every))[: (len(every) + 1) // 2]]
    return every, np.repeat(popular, apportion(TABLE_SLOTS, zipf(len(popular))))
