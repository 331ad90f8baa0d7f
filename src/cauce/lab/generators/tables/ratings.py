"""The `ratings` table: users in order, each with ratings by ascending movie id."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from cauce.lab.generators.draw import Draw, Ints, Texts, apportion, mixed, zipf
from cauce.lab.generators.tables.films import RATINGS, TABLE_SLOTS, rated_ids
from cauce.lab.generators.writer import digits, packed, pool, spans

HEADER = b"userId,movieId,rating,timestamp\n"
USERS = 270_896
_BLOCK_ROWS = 1 << 16
# Ratings for each half star out of a thousand, by the quality of a film.
_LIKED = np.stack(
    [
        np.repeat(np.arange(10), weights)
        for weights in (
            (15, 34, 16, 66, 48, 198, 120, 266, 85, 152),
            (60, 90, 70, 150, 110, 220, 100, 120, 40, 40),
            (5, 10, 8, 30, 30, 130, 137, 320, 130, 200),
            (20, 40, 30, 100, 90, 260, 150, 200, 50, 60),
        )
    ]
)
_SCORES = pool(f"{half / 2:.1f}," for half in range(1, 11))
_FIRST_S, _SPAN_S = 830_000_000, 671_000_000
# Movie ids reach ten times the number of films; 24 bits hold them up to thirty times the real size.
_ID_BITS = 24


@cache
def _numbers(count: int) -> Texts:
    return pool(f"{number}," for number in range(count))


def blocks(movies: int, rows: int, seed: int) -> Iterator[bytes]:
    yield HEADER
    draw = Draw(seed, "movies", "raters")
    users = max(1, round(USERS * rows / RATINGS))
    # No user rates everything: the most active thousandth have the same number.
    weights = np.minimum(zipf(users), zipf(users)[users // 1000])
    ends = np.cumsum(apportion(rows, weights[draw.order(users)]))
    for block, start, end in spans(rows, _BLOCK_ROWS):
        user = 1 + np.searchsorted(ends, np.arange(start, end), side="right")
        yield _rows(Draw(seed, "movies", "ratings", block), user, rated_ids(movies, seed))


def _rows(draw: Draw, user: Ints, rated: tuple[Ints, Ints]) -> bytes:
    count = len(user)
    every, table = rated
    movie = table[draw.below(TABLE_SLOTS, count)]
    rare = np.flatnonzero(draw.chance(1 / 256, count))
    movie[rare] = every[draw.below(len(every), len(rare))]
    movie = np.sort((user << _ID_BITS) | movie) & ((1 << _ID_BITS) - 1)
    first = _FIRST_S + (mixed(user, 1) % np.uint64(_SPAN_S)).astype(np.int64)
    high, low = np.divmod(first + draw.below(9_000, count), 100_000)
    names = _numbers(int(every.max()) + 1)
    raters = pool(f"{n}," for n in range(int(user[0]), int(user[-1]) + 1))
    scores = _SCORES[_LIKED[movie * 7 // 3 % len(_LIKED), draw.below(1000, count)]]
    return packed((raters[user - user[0]], names[movie], scores, digits(5)[high], digits(5, "\n")[low]), count)
