"""VADER's scores of a series of texts: the kernels for nearly all, the library for what they hand back."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cauce.native.lanes import Bytes, Ints
from cauce.sentiment.reading import EMOJI, GAP, LOWERED_BYTES, SPARE_BYTES, UNSURE, read
from cauce.sentiment.rules import weigh
from cauce.sentiment.vocabulary import analyzer, vocabulary

_VIEW = np.dtype([("size", "<i4"), ("head", "<u4"), ("buffer", "<i4"), ("offset", "<i4")])
"""How Arrow's views say where a text is; one of up to ``_WITHIN`` bytes is in the view itself."""
_WITHIN = 12
_ONE_STRETCH = 3
"""Buffers of an array whose texts are in one place: which are null, the views, the place."""


def units_of(texts: pl.Series) -> NDArray[np.int32]:
    """The units of each text, 0 where there is none."""
    in_place = _in_place(texts)
    return _copied(texts) if in_place is None else in_place


def _copied(texts: pl.Series) -> NDArray[np.int32]:
    array = texts.to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offsets, data = array.buffers()
    bounds = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return cells_units(np.frombuffer(data, np.uint8), bounds[:-1], bounds[1:])


def _in_place(texts: pl.Series) -> NDArray[np.int32] | None:
    """The same where the texts lie, if they do so one after the other in one stretch, as those of a part do."""
    array = texts.rechunk().to_arrow(compat_level=pl.CompatLevel.newest())
    buffers = array.buffers()
    if len(buffers) != _ONE_STRETCH or texts.null_count():
        return None
    views = np.frombuffer(buffers[1], _VIEW)[array.offset : array.offset + len(array)]
    outside = views["size"] > _WITHIN
    starts = views["offset"][outside].astype(np.int64)
    ends = starts + views["size"][outside]
    if (starts[1:] < ends[:-1]).any():
        return None
    units = np.empty(len(array), np.int32)
    units[outside] = cells_units(np.frombuffer(buffers[2], np.uint8), starts, ends)
    if not outside.all():
        units[~outside] = _copied(texts.filter(~outside))
    return units


def cells_units(data: Bytes, starts: Ints, ends: Ints) -> NDArray[np.int32]:
    """The units of the UTF-8 texts that lie in ``data`` in ascending order."""
    units = np.empty(starts.size, np.int32)
    # The kernel reads on after a text's end, so those that end where the buffer does are copied to where it can.
    inner = int(np.searchsorted(ends, data.size - SPARE_BYTES, "right"))
    left = _score(data, starts[:inner], ends[:inner], units[:inner])
    if inner < starts.size:
        begin = int(starts[inner])
        rest = np.concatenate([data[begin:], np.zeros(SPARE_BYTES, np.uint8)])
        left += _score(rest, starts[inner:] - begin, ends[inner:] - begin, units[inner:])
    if left:
        _finish(data, starts, ends, units)
    return units


def _score(data: Bytes, starts: Ints, ends: Ints, units: NDArray[np.int32]) -> int:
    """Put down the units of each text, and say for how many it is EMOJI or UNSURE instead."""
    table, rules = vocabulary()
    count = starts.size
    # Room for the most words there can be; memory that no word is written to is never taken.
    words = np.empty(int((ends - starts).sum()) // 2 + count + GAP * (count + 1), np.uint16)
    firsts = np.empty(count + 1, np.int64)
    marks = np.empty((count, 2), np.int64)
    left = read(data, starts, ends, table, words, firsts, marks, units, np.empty(LOWERED_BYTES, np.uint8))
    longest = int(np.diff(firsts).max(initial=0))
    hits, valences = np.empty(longest, np.int32), np.empty(longest, np.float64)
    return left + weigh(words, firsts, marks, rules, units, hits, valences)


def _finish(data: Bytes, starts: Ints, ends: Ints, units: NDArray[np.int32]) -> None:
    with_emoji = np.flatnonzero(units == EMOJI)
    if with_emoji.size:
        # Most series have none, and need not load the kernel for them. No emoji is spelled with another.
        from cauce.sentiment.emoji import spelled

        spelt, bounds = spelled(data, starts[with_emoji], ends[with_emoji])
        units[with_emoji] = cells_units(spelt, bounds[:-1], bounds[1:])
    for row in np.flatnonzero(units == UNSURE).tolist():
        text = data[starts[row] : ends[row]].tobytes().decode()
        units[row] = round(analyzer().polarity_scores(text)["compound"] * 10_000)
