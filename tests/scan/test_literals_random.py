"""Lists against ``ast.literal_eval``: random literals, unchanged and with some bytes changed."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cauce.scan.cells.kinds import FieldList, TextList
from tests.scan.cells.test_literals import expected
from tests.scan.reading import read, read_one

pytestmark = pytest.mark.slow

PIECES = [
    "a",
    "Tom Hanks",
    "O'Brien",
    'say "x"',
    "\\",
    "\n",
    "é",
    "\u4e2d",
    "\U0001f600",
    "",
    ", ",
    "\0",
    "]",
    "name",
]
BYTES = [bytes([c]) for c in b"'\"\\[]{}(),:# \n\r\t\0\x0c+-.0179eEjJ_aurbfxNUTnFon\xc3\xa9\xff\xe2\x82"]
BYTES += [
    b"None",
    b"True",
    b"False",
    b"\\x4",
    b"\\u00e9",
    b"\\101",
    b"\\N{",
    b"''",
    b'"""',
    b"'name':",
    b"(",
    b"u'",
]


def random_value(rng: random.Random, depth: int = 0) -> object:
    choice = rng.randrange(9 if depth < 3 else 6)
    if choice < 6:
        texts = "".join(rng.choices(PIECES, k=rng.randrange(3)))
        return [
            None,
            True,
            rng.randrange(-9, 10**6),
            rng.uniform(-1, 1) * 10 ** rng.randrange(-9, 30),
            texts,
            texts,
        ][choice]
    parts = [random_value(rng, depth + 1) for _ in range(rng.randrange(3))]
    return [parts, tuple(parts), {rng.choice(PIECES): part for part in parts}][choice - 6]


def random_texts(rng: random.Random) -> object:
    return ["".join(rng.choices(PIECES, k=rng.randrange(4))) for _ in range(rng.randrange(4))]


def random_entries(rng: random.Random) -> object:
    def entry() -> object:
        items = [(rng.choice(PIECES), random_value(rng)) for _ in range(rng.randrange(4))]
        items.insert(rng.randrange(len(items) + 1), ("name", rng.choice(PIECES)))
        return dict(items)

    return [entry() for _ in range(rng.randrange(4))]


def changed(cell: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(cell) + 1)
    return cell[:at] + rng.choice([b"", *rng.choices(BYTES, k=2)]) + cell[at + rng.randrange(2) :]


@pytest.mark.parametrize(
    ("kind", "make"), [(TextList(), random_texts), (FieldList(), random_entries)], ids=["texts", "entries"]
)
@pytest.mark.parametrize("changes", [0, 1, 2, 4])
def test_random_literals_read_as_python_reads_them(kind, make, changes):
    rng = random.Random(changes)
    cells = [repr(make(rng) if rng.random() < 0.95 else random_value(rng)).encode() for _ in range(6_000)]
    for _ in range(changes):
        cells = [changed(cell, rng) for cell in cells]
    for cell, value in zip(cells, read(kind, cells), strict=True):
        assert value == expected(kind, cell), cell


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@settings(max_examples=200)
@given(st.lists(st.text()) | st.lists(values, max_size=4))
def test_any_list_reads_as_python_reads_it(value):
    assert read_one(TextList(), ascii(value)) == expected(TextList(), ascii(value))


@settings(max_examples=200)
@given(st.lists(st.dictionaries(st.sampled_from(["name", "id", "x"]), values, max_size=4), max_size=4))
def test_any_entries_read_as_python_reads_them(value):
    assert read_one(FieldList(), repr(value)) == expected(FieldList(), repr(value))


@settings(max_examples=200)
@given(st.text(alphabet="'\"\\[]{}(), :ax10.\n", max_size=12))
def test_any_text_in_brackets_reads_as_python_reads_it(text):
    cell = f"['{text}']"
    assert read_one(TextList(), cell) == expected(TextList(), cell)
