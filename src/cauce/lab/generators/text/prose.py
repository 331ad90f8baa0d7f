"""English-like prose with a mood, assembled from pools of ready pieces: a long text costs a few copies.

A sentence is four pieces: opener, subject, predicate (by mood) and end. Pieces are stored escaped for CSV,
and know whether they force their cell into quotes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter

import numpy as np

from cauce.lab.generators.draw import Bools, Draw, Ints
from cauce.lab.generators.text import lexicon
from cauce.lab.generators.text.words import capital, phrases

NEUTRAL, POSITIVE, NEGATIVE = 0, 1, 2
_PIECES = 4


@dataclass(frozen=True)
class Group:
    """A run of pieces in the pool: `size` of them from `start`."""

    start: int
    size: int

    def draw(self, draw: Draw, count: int) -> Ints:
        return self.start + draw.below(self.size, count)


class Pool:
    """Pieces escaped for CSV, in one list so that a text is a list of indexes."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = [b"", b" "]
        self._quoted: list[bool] = [False, False]

    def add(self, texts: Sequence[str]) -> Group:
        start = len(self.pieces)
        self.pieces.extend(text.replace('"', '""').encode() for text in texts)
        self._quoted.extend(any(mark in text for mark in ',"\n') for text in texts)
        return Group(start, len(texts))

    def quoted(self) -> Bools:
        return np.array(self._quoted)


class Prose:
    """A style: its pool of pieces and how sentences are drawn from it."""

    def __init__(self, style: lexicon.Style) -> None:
        draw = Draw(style.number, "prose")
        pool = Pool()
        self._openers = pool.add(style.openers)
        subjects = phrases(draw, style.subjects, style.words, style.variety)
        # Each subject twice, one group apart: plain after an opener, capitalised at the start of a sentence.
        self._subjects = pool.add(subjects)
        pool.add([capital(subject) for subject in subjects])
        self._predicates = [self._add_predicates(pool, draw, style, mood) for mood in (0, 1, 2)]
        self._ends = pool.add(lexicon.ENDS).start
        pool.add([end.rstrip(" \n") for end in lexicon.ENDS])
        self._shouts = pool.add(style.shouts)
        self._pieces, self._quoted = pool.pieces, pool.quoted()

    @staticmethod
    def _add_predicates(pool: Pool, draw: Draw, style: lexicon.Style, mood: int) -> Group:
        return pool.add(phrases(draw, style.predicates[mood], style.words, 2 * style.variety))

    def cells(self, draw: Draw, sentences: Ints, moods: Ints, last: bytes = b",") -> list[bytes]:
        """A cell for each number of sentences; `moods` has an entry for each sentence of all the texts.

        No sentences is an empty cell, and -1 is a cell of one blank.
        """
        pieces = self._draw(draw, moods)
        stops = np.cumsum(np.maximum(sentences, 0))
        if len(moods):
            # A text does not end in white space: its last end is replaced by the variant without it.
            pieces[stops[sentences > 0] - 1, _PIECES - 1] += len(lexicon.ENDS)
        marks = np.concatenate([[0], np.cumsum(self._quoted[pieces].any(axis=1))])
        quoted = marks[stops] > marks[stops - np.maximum(sentences, 0)]
        texts = itemgetter(*pieces.ravel().tolist(), 0)(self._pieces)
        return _cut(texts, (stops * _PIECES).tolist(), quoted.tolist(), (sentences < 0).tolist(), last)

    def _draw(self, draw: Draw, moods: Ints) -> Ints:
        count = len(moods)
        opened = draw.chance(0.35, count)
        pieces = np.zeros((count, _PIECES), dtype=np.int64)
        pieces[:, 0] = np.where(opened, self._openers.draw(draw, count), 0)
        pieces[:, 1] = self._subjects.draw(draw, count) + np.where(opened, 0, self._subjects.size)
        starts = np.array([group.start for group in self._predicates])
        pieces[:, 2] = starts[moods] + draw.below(self._predicates[0].size, count)
        pieces[:, 3] = self._ends + draw.pick(lexicon.END_WEIGHTS, count)
        shouted = draw.chance(0.02, count)
        pieces[shouted, 0] = self._shouts.draw(draw, int(shouted.sum()))
        pieces[shouted, 1:3] = 0
        return pieces


def _cut(texts: Sequence[bytes], stops: list[int], quoted: list[bool], blank: list[bool], last: bytes) -> list[bytes]:
    cells, start = [], 0
    for stop, needs_quotes, is_blank in zip(stops, quoted, blank, strict=True):
        text = b" " if is_blank else b"".join(texts[start:stop])
        cells.append(b'"' + text + b'"' + last if needs_quotes else text + last)
        start = stop
    return cells


@cache
def reviews() -> Prose:
    return Prose(lexicon.REVIEW)


@cache
def stories() -> Prose:
    return Prose(lexicon.STORY)
