"""Reads cells with the real kernels and returns plain values, for tests to compare."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cauce.scan.cells.decode import parse
from cauce.scan.cells.kinds import Kind

BAD = "bad"


def read(kind: Kind, cells: Sequence[str | bytes]) -> list[object]:
    """Values of the cells: None for null, ``BAD`` for those that do not parse."""
    raw = [cell.encode() if isinstance(cell, str) else cell for cell in cells]
    # Digits between the cells reveal a kernel that reads past a cell; the last cell ends the buffer.
    buf = np.frombuffer(b"79".join(raw), np.uint8)
    length = np.array([len(cell) for cell in raw], np.int32)
    start = np.cumsum(np.concatenate([[0], length[:-1] + 2])) if raw else np.empty(0, np.int64)
    parsed = parse(kind, buf, start, length)
    assert parsed.values.dtype == kind.dtype
    assert not (parsed.bad & parsed.values.is_not_null().to_numpy()).any()
    return [BAD if bad else value for value, bad in zip(parsed.values.to_list(), parsed.bad, strict=True)]


def read_one(kind: Kind, cell: str | bytes) -> object:
    """One cell, read alone, and again among others, where kernels may take their fast path."""
    (alone,) = read(kind, [cell])
    amid = read(kind, ["7", cell, "0123456789"])[1]
    assert repr(alone) == repr(amid)
    return alone
