"""Encodes rows and writes files: minimal quoting, packed records, writing in blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

_NEEDS_QUOTES = re.compile(r'[",\n\r]')


@dataclass(frozen=True)
class Table:
    """A table of a dataset: its files, each with a function that yields its bytes, header included, in blocks."""

    name: str
    files: tuple[tuple[str, Callable[[], Iterator[bytes]]], ...]


def cell(text: str, last: str = ",") -> bytes:
    """A cell as Python's csv writes it with minimal quoting, followed by its separator."""
    if _NEEDS_QUOTES.search(text):
        text = '"' + text.replace('"', '""') + '"'
    return (text + last).encode()


def cells(texts: Iterable[str], last: str = ",") -> list[bytes]:
    return [cell(text, last) for text in texts]


def pool(texts: Iterable[str]) -> npt.NDArray[np.bytes_]:
    """Texts for a packed record, looked up by index."""
    return np.array([text.encode() for text in texts])


@cache
def digits(width: int, last: str = "") -> npt.NDArray[np.bytes_]:
    """Every number with this many digits, with leading zeros."""
    return pool(f"{number:0{width}d}{last}" for number in range(10**width))


def join_columns(*columns: Sequence[bytes]) -> bytes:
    """Joins columns, whose cells end with their separators, into rows."""
    return b"".join(chain.from_iterable(zip(*columns, strict=True)))


def choose(texts: Sequence[bytes], indexes: npt.NDArray[np.int64]) -> list[bytes]:
    return list(map(texts.__getitem__, indexes.tolist()))


def packed(columns: Sequence[npt.NDArray[np.bytes_] | bytes], count: int) -> bytes:
    """Joins columns of fixed width into rows.

    Texts shorter than their column are padded with NUL, which no cell contains; all NULs are removed at the end.
    """
    widths = [len(c) if isinstance(c, bytes) else c.dtype.itemsize for c in columns]
    record = np.empty(count, dtype=[(f"f{i}", f"S{width}") for i, width in enumerate(widths)])
    for i, column in enumerate(columns):
        record[f"f{i}"] = column
    return record.tobytes().translate(None, b"\0")


def spans(rows: int, block_rows: int) -> Iterator[tuple[int, int, int]]:
    """(block number, first row, end row) over all the rows."""
    for block, start in enumerate(range(0, rows, block_rows)):
        yield block, start, min(start + block_rows, rows)


def write_file(path: Path, blocks: Iterator[bytes], progress: Callable[[int], None] | None) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with path.open("wb", buffering=0) as file:
        for block in blocks:
            file.write(block)
            written += len(block)
            if progress is not None:
                progress(len(block))
    return written


def scaled(rows: int, scale: float) -> int:
    return max(1, round(rows * scale))
