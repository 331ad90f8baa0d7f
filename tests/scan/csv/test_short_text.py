"""Short texts in views: equal to the general way of building texts."""

from __future__ import annotations

import numpy as np
import pytest

from cauce.scan.csv.gather import gather_text
from cauce.scan.csv.located import Located, locate, padded
from cauce.scan.csv.short_text import gather_short_text
from cauce.scan.native.simd import Bytes


def located(texts: list[str]) -> tuple[Bytes, Located]:
    data = "".join(f"{text},x\n" for text in texts).encode()
    buffer = padded(data)
    return buffer, locate(buffer, len(data), delimiter=",", width=2, columns=[0])


TEXTS = ["", "R", "N", "REG AIR", "exactly 8", "12 letters..", "", '"quoted"']


@pytest.mark.parametrize("rows", [None, [0, 3, 5], [7, 7, 1, 0], [6]])
def test_short_texts_are_those_of_the_general_way(rows: list[int] | None) -> None:
    buffer, found = located(TEXTS)
    chosen = None if rows is None else np.array(rows, np.int64)
    cells = found.start[0], found.length[0], found.escaped[0], chosen
    short = gather_short_text(buffer, *cells)
    assert short is not None
    assert short.to_list() == gather_text(buffer, *cells).to_list()


@pytest.mark.parametrize("text", ["thirteen let.", "ñandú", '"a ""b"""'])
@pytest.mark.parametrize("before", [0, 200])
def test_other_texts_are_left_to_the_general_way(text: str, before: int) -> None:
    buffer, found = located([*["short"] * before, text])
    assert gather_short_text(buffer, found.start[0], found.length[0], found.escaped[0], None) is None


def test_texts_outlive_the_buffer() -> None:
    buffer, found = located(TEXTS)
    short = gather_short_text(buffer, found.start[0], found.length[0], found.escaped[0], None)
    buffer[:] = 0
    assert short is not None
    assert short.to_list() == [None, "R", "N", "REG AIR", "exactly 8", "12 letters..", None, "quoted"]
