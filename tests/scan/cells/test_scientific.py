"""Floats with exponents, decimals of a fixed scale and times of day, against Python's own readers."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import random
import re

import polars as pl
import pyarrow as pa
import pytest

from cauce.scan.cells.decode import parse_series
from cauce.scan.cells.kinds import Decimal, Float, Time

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
WORD = re.compile(r"[+-]?(inf|infinity)|nan", re.IGNORECASE)


def read(kind: Float | Decimal | Time, cells: list[str]) -> list[object]:
    """The values; "bad" for a cell that is rejected."""
    parsed = parse_series(kind, pl.Series(cells, dtype=pl.String))
    return ["bad" if bad else value for value, bad in zip(parsed.values, parsed.bad, strict=True)]


def python_float(cell: str) -> object:
    if WORD.fullmatch(cell):
        return str(float(cell))
    if not NUMBER.fullmatch(cell) or math.isinf(float(cell)):
        return "bad"
    return float(cell)


def random_number(rng: random.Random) -> str:
    digits = "".join(rng.choices("0123456789", k=rng.randrange(22)))
    text = rng.choice(["", "-", "+"]) + digits[: rng.randrange(22)] + rng.choice(["", ".", "."]) + digits[::-1]
    exponent = rng.choice(["", "e", "E", "e+", "E-", "e-", "ee", "e "]) + str(rng.randrange(340))
    return text + (exponent if rng.random() < 0.7 else "") or "0"


@pytest.mark.parametrize("seed", range(5))
def test_floats_are_those_of_python(seed: int) -> None:
    rng = random.Random(seed)
    cells = [random_number(rng) for _ in range(2000)]
    cells += ["inf", "-Infinity", "NaN", "+inf", "infinit", "-nan", "1e", "e5", ".e5", "1e400", "-1e400", "1e-400"]
    cells += ["1" * 100 + "e-90", "0." + "1" * 2000 + "e5", "9" * 400]
    found = [str(value) if isinstance(value, float) and not math.isfinite(value) else value
             for value in read(Float(scientific=True), cells)]  # fmt: skip
    assert found == [python_float(cell) for cell in cells]


def test_a_plain_float_has_no_exponent_and_no_words() -> None:
    assert read(Float(), ["1e5", "inf", "nan", "1.5"]) == ["bad", "bad", "bad", 1.5]


def test_typed_floats_that_are_not_finite_are_values_of_a_scientific_column() -> None:
    series = pl.Series([1.5, math.inf, None])
    assert parse_series(Float(scientific=True), series).values.to_list() == [1.5, math.inf, None]
    assert parse_series(Float(), series).bad.tolist() == [False, True, False]


def python_decimal(cell: str, places: int) -> object:
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", cell):
        return "bad"
    units = decimal.Decimal(cell).scaleb(places, decimal.Context(prec=100))
    if units != units.to_integral_value() or not -(2**63) <= units < 2**63:
        return "bad"
    return decimal.Decimal(cell)


@pytest.mark.parametrize("places", [0, 1, 2, 4, 18])
def test_decimals_of_a_scale_are_exact_or_rejected(places: int) -> None:
    rng = random.Random(places)
    cells = [f"{rng.randrange(-(10**9), 10**9)}.{rng.randrange(10 ** rng.randrange(1, 6))}" for _ in range(500)]
    cells += ["0", "-0.5", "5.", ".5", ".", "", "1e3", "9" * 18, "9" * 19, "-9223372036854775808", "1.50000", "x"]
    filled = [cell for cell in cells if cell]
    assert read(Decimal(places), filled) == [python_decimal(cell, places) for cell in filled]
    parsed = parse_series(Decimal(places), pl.Series(cells))
    assert parsed.values.dtype == pl.Decimal(38, places)


@pytest.mark.parametrize("places", [2, 6])
def test_typed_decimals_widen_exactly(places: int) -> None:
    values = [decimal.Decimal("1.25"), decimal.Decimal("-99999.99"), None]
    series = pl.Series(pa.array(values, pa.decimal128(7, 2)).to_pylist(), dtype=pl.Decimal(7, 2))
    assert parse_series(Decimal(places), series).values.to_list() == values
    assert parse_series(Decimal(1), series).bad.tolist() == [True, True, False]


def python_time(cell: str) -> object:
    if not re.fullmatch(r"[0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)?", cell):
        return "bad"
    try:
        return dt.time.fromisoformat(cell)
    except ValueError:
        return "bad"


def test_times_of_day_are_those_of_python() -> None:
    rng = random.Random(1)
    cells = [f"{rng.randrange(30):02}:{rng.randrange(70):02}:{rng.randrange(70):02}" for _ in range(1000)]
    cells += ["10:30", "23:59:59.999999", "00:00:00,5", "10:30:5", "1:30", "24:00", "10:30Z", "10:30:00.", "10-30", "x"]
    cells += ["10:30:00.1234567", "10:30 "]
    assert read(Time(), cells) == [python_time(cell) for cell in cells]


def test_typed_times_are_kept() -> None:
    series = pl.Series([dt.time(10, 30, 0, 5), None])
    assert parse_series(Time(), series).values.to_list() == [dt.time(10, 30, 0, 5), None]
