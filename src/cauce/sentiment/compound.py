"""VADER's scores of a series of texts: the kernel for nearly all, Python for what the kernel hands back."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cauce.scan.vector import Bytes, Ints
from cauce.sentiment.kernel import EMOJI, SPARE_BYTES, UNSURE, score
from cauce.sentiment.vocabulary import analyzer, pictures, vocabulary

# A class of all emoji would be slower: those outside the first plane are tried one by one.
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def units_of(texts: pl.Series) -> NDArray[np.int32]:
    """The units of each text, 0 where there is none."""
    array = texts.to_arrow()
    _, offsets, data = array.buffers()
    bounds = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return cells_units(np.frombuffer(data, np.uint8), bounds[:-1], bounds[1:])


def cells_units(data: Bytes, starts: Ints, ends: Ints) -> NDArray[np.int32]:
    """The units of the UTF-8 texts that lie in ``data`` in ascending order."""
    units = np.empty(starts.size, np.int32)
    # The kernel reads on after a text's end, so those that end where the buffer does are copied to where it can.
    inner = int(np.searchsorted(ends, data.size - SPARE_BYTES, "right"))
    left = score(data, starts[:inner], ends[:inner], vocabulary(), units[:inner])
    if inner < starts.size:
        begin = int(starts[inner])
        rest = np.concatenate([data[begin:], np.zeros(SPARE_BYTES, np.uint8)])
        left += score(rest, starts[inner:] - begin, ends[inner:] - begin, vocabulary(), units[inner:])
    if left:
        _finish(data, starts, ends, units)
    return units


def _finish(data: Bytes, starts: Ints, ends: Ints, units: NDArray[np.int32]) -> None:
    def text(row: int) -> str:
        return data[starts[row] : ends[row]].tobytes().decode()

    with_emoji = np.flatnonzero(units == EMOJI)
    if with_emoji.size:
        # No description has an emoji in it, so this goes one level deep.
        units[with_emoji] = units_of(pl.Series([expanded(text(row)) for row in with_emoji.tolist()]))
    for row in np.flatnonzero(units == UNSURE).tolist():
        units[row] = round(analyzer().polarity_scores(text(row))["compound"] * 10_000)


def expanded(text: str) -> str:
    """The text with words for its emoji, set off by a space before each but none after, as VADER does."""

    def words(found: re.Match[str]) -> str:
        begin = found.start()
        known = pictures().get(found[0])
        if known is None:
            return found[0]
        return known if begin == 0 or text[begin - 1] == " " else " " + known

    return _NOT_ASCII.sub(words, text)
