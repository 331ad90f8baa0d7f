"""Python list literals, of texts or of dicts with a text field, as ``ast.literal_eval`` would read them.

The kernel parses ordinary literals; all others go to ``ast.literal_eval`` itself, which never runs code.
"""

from __future__ import annotations

import ast
import threading
import warnings

import numpy as np
import polars as pl
import pyarrow as pa

from cauce.scan.cells.cell_kernel import BAD, ODD, PARSED, Bytes, Integers, Lengths, Starts, States, to_series
from cauce.scan.cells.literal_kernel import MAX_DEPTH, field_lists, text_lists

MAX_BRACKETS = 100
"""Maximum nesting of open brackets, including those in strings; an odd cell with more is rejected unparsed."""

_LISTS = pa.large_list(pa.large_string())
_BRACKET_STEPS = np.zeros(256, np.int8)
_BRACKET_STEPS[list(b"([{")] = 1
_BRACKET_STEPS[list(b")]}")] = -1

# Warning filters are global; without the lock two threads could restore each other's filters.
_warnings_lock = threading.Lock()


def parse_lists(buf: Bytes, start: Starts, length: Lengths, field: str | None = None) -> tuple[pl.Series, States]:
    """Lists of texts, or with ``field`` the text under that key of each dict in the list."""
    lists, state = _ordinary(buf, start, length, field)
    odd = np.flatnonzero(state == ODD)
    if not len(odd):
        return lists, state
    with _warnings_lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [_odd(buf[start[i] : start[i] + length[i]], field) for i in odd]
    state[odd] = [BAD if texts is None else PARSED for texts in found]
    index = np.arange(len(state))
    index[odd] = len(state) + np.arange(len(odd))
    slow = pl.Series(found, dtype=pl.List(pl.String))
    return pl.concat([lists, slow]).gather(index), state


def _ordinary(buf: Bytes, start: Starts, length: Lengths, field: str | None) -> tuple[pl.Series, States]:
    total = int(length.sum(dtype=np.int64))
    # Upper bounds: a value is never longer than its literal, and an element takes three bytes with its comma.
    # Pages that are never written take no memory.
    out = np.empty(total, np.uint8)
    ends = np.empty(total // 3 + len(start) + 1, np.int64)
    counts = np.empty(len(start) + 1, np.int64)
    state = np.empty(len(start), np.uint8)
    ends[0] = counts[0] = 0
    if field is None:
        text_lists(buf, start, length, out, ends[1:], counts[1:], state)
    else:
        name = np.frombuffer(field.encode(), np.uint8)
        closers = np.empty(MAX_DEPTH - 2, np.uint8)  # the list and its entries are two levels
        field_lists(buf, start, length, name, closers, out, ends[1:], counts[1:], state)
    return to_series(_LISTS, counts, state, [_texts(out, ends[: counts[-1] + 1])]), state


def _texts(out: Bytes, ends: Integers) -> pa.Array:
    # Copies the used part: the column keeps its bytes alive, and most of `out` is unused.
    data = out[: ends[-1]].copy()
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_string(), len(ends) - 1, buffers)


def _odd(cell: Bytes, field: str | None) -> list[str] | None:
    """The texts of a cell that the kernel marked ODD, or None if the cell is bad."""
    literal = _evaluated(cell)
    if not isinstance(literal, list):
        return None
    if field is not None:
        literal = [entry.get(field) if isinstance(entry, dict) else None for entry in literal]
    texts = [text for text in literal if isinstance(text, str) and _encodable(text)]
    return texts if len(texts) == len(literal) else None


def _evaluated(cell: Bytes) -> object:
    if _BRACKET_STEPS[cell].cumsum(dtype=np.int64).max() > MAX_BRACKETS:
        return None
    try:
        return ast.literal_eval(cell.tobytes().decode("utf-8", "replace"))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _encodable(text: str) -> bool:
    """Whether it has no lone surrogates, which a text column cannot store."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
