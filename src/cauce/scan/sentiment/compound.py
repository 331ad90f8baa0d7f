"""VADER's scores of a series of texts: kernels compute the valences, the library sums them if rounding is unclear."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cauce.process import progress
from cauce.scan.native.simd import Bytes, Ints
from cauce.scan.sentiment.reading import EMOJI, GAP, LOWERED_BYTES, SPARE_BYTES, UNSURE, read
from cauce.scan.sentiment.rules import heaps_for, weigh
from cauce.scan.sentiment.vocabulary import analyzer, vocabulary

_VIEW = np.dtype([("size", "<i4"), ("head", "<u4"), ("buffer", "<i4"), ("offset", "<i4")])
"""Layout of Arrow's string views; a text of up to ``_INLINE_BYTES`` bytes is stored in the view itself."""
_INLINE_BYTES = 12
_CONTIGUOUS_BUFFERS = 3
"""Number of buffers of an array with one data buffer: validity, views, data."""
_SLICE_BYTES = 16 << 20
"""Bytes to score between two progress ticks."""


def units_of(texts: pl.Series) -> NDArray[np.int32]:
    """The units of each text; 0 for a null text."""
    in_place = _in_place(texts)
    return _copied(texts) if in_place is None else in_place


def _copied(texts: pl.Series) -> NDArray[np.int32]:
    array = texts.to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offsets, data = array.buffers()
    bounds = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return cells_units(np.frombuffer(data, np.uint8), bounds[:-1], bounds[1:])


def _in_place(texts: pl.Series) -> NDArray[np.int32] | None:
    """As ``_copied``, but without a copy; None unless the texts are contiguous in one buffer, as in a part."""
    array = texts.rechunk().to_arrow(compat_level=pl.CompatLevel.newest())
    buffers = array.buffers()
    if len(buffers) != _CONTIGUOUS_BUFFERS or texts.null_count():
        return None
    views = np.frombuffer(buffers[1], _VIEW)[array.offset : array.offset + len(array)]
    outside = views["size"] > _INLINE_BYTES
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
    """The units of the UTF-8 texts in ``data``, which are in ascending order."""
    units = np.empty(starts.size, np.int32)
    # The kernel reads past a text's end, so texts at the end of the buffer are copied to one with spare bytes.
    inner = int(np.searchsorted(ends, data.size - SPARE_BYTES, "right"))
    _score_all(data, starts[:inner], ends[:inner], units[:inner])
    if inner < starts.size:
        begin = int(starts[inner])
        rest = np.concatenate([data[begin:], np.zeros(SPARE_BYTES, np.uint8)])
        _score_all(rest, starts[inner:] - begin, ends[inner:] - begin, units[inner:])
    return units


def _score_all(data: Bytes, starts: Ints, ends: Ints, units: NDArray[np.int32]) -> None:
    """Writes the units of each text, in batches of limited bytes."""
    at = 0
    while at < starts.size:
        stop = max(int(np.searchsorted(ends, starts[at] + _SLICE_BYTES, "right")), at + 1)
        scored = _score(data, starts[at:stop], ends[at:stop], units[at:stop])
        if scored.left:
            _finish(data, starts[at:stop], ends[at:stop], units[at:stop])
        at = stop
        progress.tick()


class _Scored(NamedTuple):
    """The number of texts whose units are EMOJI or UNSURE, and the summed valences of the last text."""

    left: int
    valences: NDArray[np.float64]


def _score(data: Bytes, starts: Ints, ends: Ints, units: NDArray[np.int32]) -> _Scored:
    table, rules = vocabulary()
    count = starts.size
    # Sized for the maximum number of words; pages that are never written take no memory.
    words = np.empty(int((ends - starts).sum()) // 2 + count + GAP * (count + 1), np.uint16)
    firsts = np.empty(count + 1, np.int64)
    marks = np.empty((count, 2), np.int64)
    left = read(data, starts, ends, table, words, firsts, marks, units, np.empty(LOWERED_BYTES, np.uint8))
    longest = int(np.diff(firsts).max(initial=0))
    hits, valences = np.empty(longest, np.int32), np.zeros(longest, np.float64)
    left += weigh(words, firsts, marks, rules, units, hits, valences, heaps_for(valences))
    return _Scored(left, valences)


def _finish(data: Bytes, starts: Ints, ends: Ints, units: NDArray[np.int32]) -> None:
    with_emoji = np.flatnonzero(units == EMOJI)
    if with_emoji.size:
        # Most series have no emoji and need not load this kernel. No emoji is spelled with another one.
        from cauce.scan.sentiment.emoji import replace_emoji

        spelt, bounds = replace_emoji(data, starts[with_emoji], ends[with_emoji])
        units[with_emoji] = cells_units(spelt, bounds[:-1], bounds[1:])
    for row in np.flatnonzero(units == UNSURE).tolist():
        units[row] = _added_by_library(data, starts[row : row + 1], ends[row : row + 1])
        progress.tick()


def _added_by_library(data: Bytes, start: Ints, end: Ints) -> int:
    """The units of one text: the kernels compute its valences, and the library sums them in its own way.

    The library does not compute the valences: it takes quadratic time in the length of a text.
    """
    valences = _score(data, start, end, np.empty(1, np.int32)).valences
    text = data[start[0] : end[0]].tobytes().decode()
    compound: float = analyzer().score_valence(valences.tolist(), text)["compound"]
    return round(compound * 10_000)
