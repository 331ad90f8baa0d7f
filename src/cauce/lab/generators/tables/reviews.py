"""The `reviews` table: rows in runs of one book each, with texts whose sentiment follows the score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from cauce.lab.generators.draw import Draw, Ints, cumulative, quantiles
from cauce.lab.generators.tables.catalogue import catalogue, runs
from cauce.lab.generators.text import prose
from cauce.lab.generators.text.words import FAMILY, GIVEN, NOUNS, PATTERNS, PLACES, phrases
from cauce.lab.generators.writer import cell, cells, choose, join_columns, spans

HEADER = b"Id,Title,Price,User_id,profileName,review/helpfulness,review/score,review/time,review/summary,review/text\n"
_BLOCK_ROWS = 4096
_SENTENCES = (
    (0, 1), (50_000, 2), (100_000, 4), (250_000, 6), (500_000, 11), (750_000, 17), (900_000, 28),
    (950_000, 42), (990_000, 76), (999_000, 150), (999_900, 330), (1_000_000, 560),
)  # fmt: skip
# Weights of the scores one to five, by the quality of a book.
_LIKED = np.stack(
    [
        cumulative(weights)
        for weights in ((14, 10, 14, 22, 40), (6, 5, 9, 20, 60), (3, 3, 6, 18, 70), (5, 6, 12, 27, 50))
    ]
)
# Of 64 sentences of a review by score, how many are neutral, and how many neutral or positive.
_NEUTRAL_BELOW = np.array([20, 22, 24, 26, 24, 22])
_POSITIVE_BELOW = np.array([42, 26, 32, 44, 56, 60])
_HELPFUL = tuple((voted, total) for total in range(24) for voted in range(total + 1))
_FIRST_DAY, _DAYS, _DAY_S = 9_800, 6_000, 86_400
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class _Pools:
    """Ready cells; `users` are two cells each, `votes` too (the helpfulness and the score), by score first.

    The last of the users and of the summaries is empty.
    """

    users: list[bytes]
    votes: list[bytes]
    times: list[bytes]
    summaries: list[bytes]


@cache
def _pools() -> _Pools:
    draw = Draw(4, "reviews")
    keys = draw.below(len(_ALPHABET), 13 * 30_000).reshape(-1, 13)
    ids = ["A" + "".join(_ALPHABET[digit] for digit in key) for key in keys.tolist()]
    names = phrases(draw, _PROFILES, {"given": GIVEN, "family": FAMILY, "place": PLACES, "noun": NOUNS}, len(ids))
    scores = ("", "1.0", "2.0", "3.0", "4.0", "5.0")
    return _Pools(
        users=[*(key.encode() + b"," + cell(name) for key, name in zip(ids, names, strict=True)), b",,"],
        votes=[f"{voted}/{total},{score},".encode() for score in scores for voted, total in _HELPFUL],
        times=[b"%d," % (day * _DAY_S) for day in range(_FIRST_DAY, _FIRST_DAY + _DAYS)],
        summaries=cells([*phrases(draw, _SUMMARIES, {"noun": NOUNS, "place": PLACES, "given": GIVEN}, 6000), ""]),
    )


_PROFILES = PATTERNS["profiles"]
_SUMMARIES = PATTERNS["summaries"]


def blocks(books: int, rows: int, seed: int) -> Iterator[bytes]:
    yield HEADER
    titled = _titled(books, rows, seed)
    for block, start, end in spans(rows, _BLOCK_ROWS):
        draw = Draw(seed, "books", "reviews", block)
        yield _rows(draw, titled, np.arange(start, end, dtype=np.int64), (books, rows, seed))


def _titled(books: int, rows: int, seed: int) -> list[bytes]:
    """The first three cells of every review of a book."""
    draw = Draw(seed, "books", "editions")
    keys, prices = draw.below(10**9, books).tolist(), draw.below(9000, books).tolist()
    priced = draw.chance(0.16, books).tolist()
    titles = catalogue(books, rows, seed).titles
    return [
        b"%09dX," % key + cell(title) + (b"%d.%02d," % divmod(199 + price, 100) if has_price else b",")
        for key, title, price, has_price in zip(keys, titles, prices, priced, strict=True)
    ]


def _rows(draw: Draw, titled: list[bytes], rows: Ints, size: tuple[int, int, int]) -> bytes:
    count, pools, runs_ = len(rows), _pools(), runs(*size)
    run = np.searchsorted(runs_.starts, rows, side="right") - 1
    book = runs_.book[run]
    star = catalogue(*size).star[book]
    scores = _scores(draw, book, star, rows - runs_.starts[run])
    total = draw.below(24, count) * draw.below(24, count) // 24
    helpful = total * (total + 1) // 2 + total - draw.below(total // 2 + 1, count)
    user = np.where(draw.chance(0.19, count), -1, draw.below(len(pools.users), count))
    summary = np.where(draw.chance(0.003, count), -1, draw.below(len(pools.summaries), count))
    return join_columns(
        choose(titled, book),
        choose(pools.users, user),
        choose(pools.votes, scores * len(_HELPFUL) + helpful),
        choose(pools.times, draw.below(_DAYS, count)),
        choose(pools.summaries, summary),
        _texts(draw, scores),
    )


def _scores(draw: Draw, book: Ints, star: Ints, ordinal: Ints) -> Ints:
    """Scores from 1 to 5, or 0 for none; those of a star go by its pair, so that their means tie."""
    count = len(book)
    at = draw.below(100, count)
    liked = _LIKED[book * 7 // 3 % len(_LIKED)]
    scores = 1 + (at[:, None] >= liked).sum(axis=1)
    scores[draw.chance(0.001, count)] = 0
    # Of each twenty reviews of a star, so many give four and one gives three.
    fours = 3 + (star + 1) // 2
    turn = ordinal % 20
    dealt = np.where(turn == 0, 3, np.where(turn <= fours, 4, 5))
    return np.where(star >= 0, dealt, scores)


def _texts(draw: Draw, scores: Ints) -> list[bytes]:
    count = len(scores)
    sentences = quantiles(draw, _SENTENCES, count)
    sentences[draw.chance(0.0008, count)] = 0
    sentences[draw.chance(0.0001, count)] = -1
    each = np.repeat(scores, np.maximum(sentences, 0))
    at = draw.below(64, len(each))
    neutral, positive = at < _NEUTRAL_BELOW[each], at < _POSITIVE_BELOW[each]
    moods = np.where(neutral, prose.NEUTRAL, np.where(positive, prose.POSITIVE, prose.NEGATIVE))
    return prose.reviews().cells(draw, sentences, moods, b"\n")
