from __future__ import annotations

import decimal
import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cauce.scan.cells.kinds import Decimal, Fixed, Float, Identifier, Integer
from cauce.scan.cells.numbers import fixed
from tests.scan.reading import BAD, read, read_one

NO_NUMBERS = [
    *("+", "-", ".", "+.", "-.", "1e5", "1E5", " 1", "1 ", "--1", "+-1", "1-", "1.2.3", "..", "1..", "x"),
    *(
        "0x10",
        "1_000",
        "1,5",
        "NaN",
        "nan",
        "inf",
        "-inf",
        "None",
        "\u0661",
        "\uff11",
        "1\0",
        "\0",
        "\t1",
        "1\n",
    ),
    *("12345678x", "x12345678", "123456789.x", "1234567890e1", "1234.5678.9", "\u00b2"),
]


@pytest.mark.parametrize("kind", [Integer(), Identifier(), Decimal(), Fixed(2), Float()])
class TestEveryKind:
    @pytest.mark.parametrize("cell", NO_NUMBERS)
    def test_anything_but_a_plain_number_is_rejected(self, kind, cell):
        assert read_one(kind, cell) == BAD

    def test_the_empty_cell_is_null(self, kind):
        assert read_one(kind, "") is None

    @pytest.mark.parametrize("cell", ["0", "-0", "+0", "000", "0" * 60])
    def test_zero_has_many_forms(self, kind, cell):
        assert read_one(kind, cell) == 0

    def test_leading_zeros_do_not_count_as_digits(self, kind):
        assert read_one(kind, "0" * 40 + "1") == (100 if kind == Fixed(2) else 1)

    def test_either_sign_is_allowed(self, kind):
        assert read(kind, ["+7", "-7"]) == ([700, -700] if kind == Fixed(2) else [7, -7])

    def test_no_cells_at_all(self, kind):
        assert read(kind, []) == []


class TestInteger:
    @pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 10**18, -1, 99999999, 123456789])
    def test_goes_to_the_bounds_of_64_bits(self, value):
        assert read_one(Integer(), str(value)) == value

    @pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 2**64, 2**64 + 5, 10**19, 10**40])
    def test_beyond_64_bits_is_rejected(self, value):
        assert read_one(Integer(), str(value)) == BAD

    @pytest.mark.parametrize("cell", ["1.", "1.0", ".0"])
    def test_has_no_point(self, cell):
        assert read_one(Integer(), cell) == BAD


class TestIdentifier:
    @pytest.mark.parametrize(
        ("cell", "value"),
        [
            *(("17272.0", 17272), ("17272", 17272), ("5.", 5), (".0", 0), ("-.0", 0), ("-7.000", -7)),
            *(("1234567890123.0", 1234567890123), ("9223372036854775807.0", 2**63 - 1)),
            *(("-9223372036854775808." + "0" * 30, -(2**63)), ("0" * 30 + "12.00", 12)),
        ],
    )
    def test_may_look_like_a_float(self, cell, value):
        assert read_one(Identifier(), cell) == value

    @pytest.mark.parametrize("cell", ["17272.5", "0.1", ".5", "1.01", "1.0000000001", "9223372036854775808.0"])
    def test_is_whole_and_within_64_bits(self, cell):
        assert read_one(Identifier(), cell) == BAD


class TestDecimal:
    @pytest.mark.parametrize(
        "cell",
        [
            *("1.", ".5", "-.5", "75.00", "-0.01", "8.225", "12345678.12345678", "0.000000000000000001"),
            *("-0.000000000000000001", "9" * 17 + "." + "9" * 18, "-" + "9" * 17 + "." + "9" * 18),
            *("0" * 30 + "1.5" + "0" * 30, "123456789012345678e0"[:17], "18446744073709551.616"),
        ],
    )
    def test_is_exact(self, cell):
        assert read_one(Decimal(), cell) == decimal.Decimal(cell)

    def test_more_than_17_whole_digits_are_rejected(self):
        assert read_one(Decimal(), "1" + "0" * 17) == BAD

    def test_more_than_18_decimals_that_matter_are_rejected(self):
        assert read_one(Decimal(), "0." + "0" * 18 + "1") == BAD


class TestFixed:
    @pytest.mark.parametrize(
        ("cell", "cents"),
        [("1.", 100), (".5", 50), ("-.5", -50), ("75.00", 7500), ("1.1000000000000000000000000", 110)],
    )
    def test_counts_units_of_its_last_decimal(self, cell, cents):
        assert read_one(Fixed(2), cell) == cents

    @pytest.mark.parametrize("cell", ["1.005", "0.001", "1." + "0" * 30 + "1"])
    def test_is_never_rounded(self, cell):
        assert read_one(Fixed(2), cell) == BAD

    def test_goes_to_the_bounds_of_64_bits(self):
        cells = [
            "92233720368547758.07",
            "92233720368547758.08",
            "-92233720368547758.08",
            "-92233720368547758.09",
        ]
        assert read(Fixed(2), cells) == [2**63 - 1, BAD, -(2**63), BAD]

    def test_of_no_places_is_a_whole_number(self):
        assert read(Fixed(0), ["5", "5.0", "5.1"]) == [5, 5, BAD]

    def test_of_18_places(self):
        assert read(Fixed(18), ["9.2", "9.3", "-9.223372036854775808"]) == [92 * 10**17, BAD, -(2**63)]

    def test_of_more_places_than_64_bits_have_is_an_error(self):
        nothing = np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int32)
        with pytest.raises(ValueError, match="18"):
            fixed(*nothing, places=19)


class TestFloat:
    @pytest.mark.parametrize(
        "cell",
        [
            *("1.", ".5", "0.1", "-73.77890014648438", "9007199254740993", "1" * 300, "0." + "0" * 330 + "1"),
            *("18446744073709551616.5", "36893488147419103232", "2.2250738585072011", "0." + "0" * 20 + "1"),
        ],
    )
    def test_is_the_nearest_one(self, cell):
        assert read_one(Float(), cell) == float(cell)

    def test_keeps_the_sign_of_zero(self):
        assert [str(value) for value in read(Float(), ["-0", "-0.0", "0"])] == ["-0.0", "-0.0", "0.0"]

    def test_beyond_the_range_is_rejected(self):
        assert read_one(Float(), "1" * 310) == BAD


# Against Python's own numbers.

NUMBER = re.compile(r"[+-]?(?:(\d+)(?:\.(\d*))?|\.(\d+))", re.ASCII)


def expected(kind, cell: str) -> object:
    found = NUMBER.fullmatch(cell)
    if cell == "" or found is None:
        return None if cell == "" else BAD
    whole = (found[1] or "").lstrip("0")
    fraction = (found[2] or found[3] or "").rstrip("0")
    exact = decimal.Decimal(cell)
    match kind:
        case Float():
            return float(cell)
        case Decimal():
            return exact if len(whole) <= 17 and len(fraction) <= 18 else BAD
        case Integer() if "." in cell:
            return BAD
    places = kind.places if isinstance(kind, Fixed) else 0
    count = int(exact.scaleb(places, decimal.Context(prec=200))) if len(fraction) <= places else 2**63
    return count if -(2**63) <= count < 2**63 else BAD


def random_number(rng: random.Random) -> str:
    whole = "".join(rng.choices("0123456789", k=rng.choice([0, 1, 2, 3, 5, 8, 17, 18, 19, 20, 25])))
    fraction = "".join(rng.choices("0123456789", k=rng.choice([0, 1, 2, 3, 6, 17, 18, 19, 30])))
    fraction += "0" * rng.choice([0, 0, 0, 1, 5, 20])
    text = rng.choice(["", "", "-", "+"]) + "0" * rng.choice([0, 0, 1, 9]) + whole
    text += rng.choice(["", ".", "."]) + rng.choice(["", fraction, "0" * len(fraction)])
    if rng.random() < 0.2:
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice("+-. eE0_/:9") + text[at + rng.choice([0, 1]) :]
    return text


KINDS = [Integer(), Identifier(), Decimal(), Fixed(0), Fixed(2), Fixed(6), Fixed(18), Float()]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_random_numbers_read_as_python_reads_them(kind):
    rng = random.Random(str(kind))
    cells = [random_number(rng) for _ in range(20_000)]
    for cell, value in zip(cells, read(kind, cells), strict=True):
        assert repr(value) == repr(expected(kind, cell)) or value == expected(kind, cell), cell


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_short_random_bytes_read_as_python_reads_them(kind):
    rng = random.Random(str(kind))
    cells = ["".join(rng.choices("0123456789.+-/:\x00\x7f\u0130", k=rng.randrange(10))) for _ in range(10_000)]
    for cell, value in zip(cells, read(kind, cells), strict=True):
        assert value == expected(kind, cell), cell


@settings(max_examples=100)
@given(st.lists(st.from_regex(r"[+-]?[0-9]{0,22}\.?[0-9]{0,22}", fullmatch=True), max_size=20))
def test_any_number_reads_as_python_reads_it(cells):
    for kind in KINDS:
        assert read(kind, cells) == [expected(kind, cell) for cell in cells]


@settings(max_examples=300)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_float_comes_back_from_its_plain_digits(value):
    assert read_one(Float(), format(decimal.Decimal(repr(value)), "f")) == value
