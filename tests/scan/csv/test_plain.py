"""The fast path for bytes without quotes reads as the reference does, alone and next to quoted records."""

from __future__ import annotations

import random

import numpy as np
import pytest

from cauce.scan.csv.kernel import FAULTS, POSITION, ROWS
from cauce.scan.csv.located import locate, padded, room
from cauce.scan.csv.plain import WINDOW_BYTES, scan_plain, scratch
from tests.scan.scanning import read_whole, reference

PLAIN = [b"a", b",", b"\n", b"\r\n", b"\r", b"bc,d\n", b"x,y\n", b"\n\n", "é".encode(), b"z" * 70]


@pytest.mark.parametrize("seed", range(8))
def test_records_without_quotes_read_as_the_reference_reads_them(seed: int) -> None:
    rng = random.Random(seed)
    data = b"x,y\n" + b"".join(rng.choices(PLAIN, k=rng.choice([10, 60, 4000, 20_000])))
    assert read_whole(data) == reference(data)


@pytest.mark.parametrize("seed", range(8))
def test_quoted_records_between_plain_ones_read_as_the_reference_reads_them(seed: int) -> None:
    rng = random.Random(seed)
    quoted = [b'"a,\n",b\n', b'c,"d""e"\n', b'"f"g,h\n', b'i,"j\n', b'k"l,m\n']
    stretches = [b"".join(rng.choices(PLAIN, k=rng.choice([1, 50, 3000]))) + rng.choice(quoted) for _ in range(12)]
    data = b"x,y\n" + b"".join(stretches)
    assert read_whole(data) == reference(data)


def test_one_column_of_lines_reads_as_the_reference_reads_it() -> None:
    data = b"x\n" + b"a\n\r\n\nb\r\n\r\nc,d\n\re\n" * 3000
    assert read_whole(data) == reference(data)


def test_a_record_longer_than_a_window_is_left_to_the_other_path() -> None:
    data = b"a,b\n" + b"c" * (WINDOW_BYTES + 100) + b",d\n" + b"e,f\n" * 10
    found = locate(padded(data), len(data), delimiter=",", width=2, columns=[1])
    assert (found.rows, found.length[0].tolist()) == (12, [1] * 12)


def test_it_stops_before_the_block_of_the_first_quote() -> None:
    data = b"abc,def\n" * 100 + b'"a",b\n'
    state = np.zeros(5, np.int64)
    arrays = room(1, 1000, 10)
    places = np.array([0], np.int64)
    separators, firsts = scratch()
    scan_plain(
        padded(data), len(data), len(data), ord(","), ord('"'), 2, places, separators, firsts, *arrays, state
    )  # fmt: skip
    assert (state[POSITION], state[ROWS], state[FAULTS]) == (768, 96, 0)
