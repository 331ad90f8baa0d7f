"""Columns built from located cells, against Python's own bytes and decoder."""

from __future__ import annotations

import random
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cauce.scan.csv.gather import gather_bytes, gather_text, present
from cauce.scan.csv.located import Located, locate
from cauce.scan.native.simd import Bytes
from tests.scan.scanning import poisoned

PIECES = [
    b"a",
    b'"',
    b'""',
    b" ",
    "é€😀".encode(),
    b"\xff",
    b"\xe2\x82",
    b"\xed\xa0\x80",
    b"\xf0\x9f",
    b"\x80",
    b"x" * 70,
]


def cells(contents: list[bytes]) -> tuple[Bytes, Located]:
    """A column of quoted cells with the given contents."""
    data = b"".join(b'"' + content.replace(b'"', b'""') + b'"\n' for content in contents)
    buffer = poisoned(data, b"\xff\x80")
    found = locate(buffer, len(data), delimiter=",", width=1, columns=[0])
    assert found.rows == len(contents)
    return buffer, found


def gathered(contents: list[bytes], rows: list[int] | None = None, null_text: bytes = b"") -> list[str | None]:
    buffer, found = cells(contents)
    chosen = None if rows is None else np.array(rows, np.int64)
    column = gather_text(buffer, found.start[0], found.length[0], found.escaped[0], chosen, null_text=null_text)
    assert column.dtype == pl.String
    return column.to_list()


def test_an_empty_cell_is_null_and_blanks_are_text() -> None:
    assert gathered([b"a", b"", b" ", b"", b"NA"]) == ["a", None, " ", None, "NA"]


def test_doubled_quotes_are_unescaped() -> None:
    assert gathered([b'"', b'a"b""c', b'"' * 100, b"x" * 63 + b'"']) == [
        '"',
        'a"b""c',
        '"' * 100,
        "x" * 63 + '"',
    ]


def test_rows_can_be_chosen_in_any_order_and_twice() -> None:
    assert gathered([b"a", b"", b"ccc"], [2, 1, 2, 0]) == ["ccc", None, "ccc", "a"]
    assert gathered([b"a"], []) == []


def test_a_second_text_can_stand_for_null() -> None:
    assert gathered([b"\\N", b"\\n", b"\\NN", b"N", b""], null_text=b"\\N") == [
        None,
        "\\n",
        "\\NN",
        "N",
        None,
    ]


def test_bytes_of_a_character_split_over_two_cells_are_invalid() -> None:
    assert gathered([b"a\xc3", b"\xa9b"]) == ["a�", "�b"]


def test_a_bad_cell_does_not_affect_its_neighbours() -> None:
    assert gathered(["né".encode(), b"\xff", b"", b"z", b"\xe2\x82", "é".encode()]) == [
        "né",
        "�",
        None,
        "z",
        "�",
        "é",
    ]


def test_every_pair_and_many_longer_runs_of_bytes_decode_as_python_decodes_them() -> None:
    rng = random.Random(5)
    edges = [
        0x22,
        0x7F,
        0x80,
        0x8F,
        0x90,
        0x9F,
        0xA0,
        0xBF,
        0xC1,
        0xC2,
        0xDF,
        0xE0,
        0xED,
        0xEF,
        0xF0,
        0xF4,
        0xF5,
    ]
    contents = [bytes([a, b]) for a in range(256) for b in range(256)]
    contents += [bytes(rng.choices(edges, k=rng.randint(3, 5))) for _ in range(40_000)]
    assert gathered(contents) == [content.decode("utf-8", "replace") for content in contents]


@settings(max_examples=300)
@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=6).map(b"".join), max_size=12), st.randoms())
@example([b""], random.Random(0))
def test_any_cells_are_gathered_as_python_would(contents: list[bytes], rng: random.Random) -> None:
    rows = rng.choices(range(len(contents)), k=5) if contents and rng.random() < 0.5 else None
    expected = [contents[row].decode("utf-8", "replace") or None for row in rows or range(len(contents))]
    assert gathered(contents, rows) == expected


def test_bytes_are_gathered_as_they_are() -> None:
    buffer, found = cells([b'a"\xff', b"", b"b"])
    data, offsets = gather_bytes(buffer, found.start[0], found.length[0], found.escaped[0])
    assert data.tobytes() == b'a"\xffb'
    assert offsets.tolist() == [0, 3, 3, 4]


@pytest.mark.parametrize(("null_text", "expected"), [(b"", [True, False, True]), (b"\\N", [True, False, False])])
def test_presence_is_known_without_building_the_cells(null_text: bytes, expected: list[bool]) -> None:
    buffer, found = cells([b"ab", b"", b"\\N"])
    assert present(buffer, found.start[0], found.length[0], null_text=null_text).tolist() == expected


def test_gathering_does_not_try_to_import_pandas() -> None:
    script = """
import sys
from cauce.scan.csv.gather import gather_text
from cauce.scan.csv.located import locate, padded

class Refusal:
    def find_spec(self, name, path=None, target=None):
        assert name != "pandas"

sys.meta_path.insert(0, Refusal())
found = locate(padded(b"a\\n"), 2, delimiter=",", width=1, columns=[0])
gather_text(padded(b"a\\n"), found.start[0], found.length[0], found.escaped[0])
"""
    subprocess.run([sys.executable, "-c", script], check=True)
