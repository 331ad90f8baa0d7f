"""The columns of an answer: their types and how they print."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import polars as pl
import pytest

from cauce.errors import PlanError
from cauce.plan import BOOLEAN, DATE, DECIMAL, FLOAT, INTEGER, TEXT, TEXT_LIST, TIMESTAMP, TIMESTAMPTZ, decimal
from cauce.plan.outputs import Output, narrow_integers

MONEY = pl.Decimal(38, 18)


def printed(output: Output, values: pl.Series) -> list[str | None]:
    return output.text(output.shape(values)).to_list()


@pytest.mark.parametrize(
    ("output", "dtype"),
    [
        (TEXT, pl.String()),
        (INTEGER, pl.Int64()),
        (DATE, pl.Date()),
        (BOOLEAN, pl.Boolean()),
        (TIMESTAMP, pl.Datetime("us")),
        (TIMESTAMPTZ, pl.Datetime("us", "UTC")),
        (FLOAT, pl.Float64()),
        (TEXT_LIST, pl.List(pl.String())),
        (DECIMAL, pl.Decimal(38, 18)),
        (decimal(2), pl.Decimal(38, 2)),
        (decimal(4, unscaled=True), pl.Decimal(38, 4)),
    ],
)
def test_an_output_has_its_type_even_without_values(output: Output, dtype: pl.DataType) -> None:
    assert output.dtype == dtype
    assert output.shape(pl.Series([None], dtype=pl.Null).cast(pl.Int64 if dtype != pl.List else dtype)).dtype == dtype


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (4.79126213592233, "4.79126213592233"),
        (1e22, "1e+22"),
        (5e-324, "5e-324"),
        (3.0, "3.0"),
        (None, None),
    ],
)
def test_floats_print_the_shortest_digits_that_round_trip(value: float | None, text: str | None) -> None:
    assert printed(FLOAT, pl.Series([value], dtype=pl.Float64)) == [text]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("0.125", "0.12"),
        ("0.135", "0.14"),
        ("-0.125", "-0.12"),
        ("2.675", "2.68"),
        ("7", "7.00"),
        ("99999999999999999.995", "100000000000000000.00"),
    ],
)
def test_places_round_half_to_even_and_print_every_digit(value: str, text: str) -> None:
    assert printed(decimal(2), pl.Series([Decimal(value)], dtype=MONEY)) == [text]


def test_places_take_integers_too() -> None:
    assert printed(decimal(2), pl.Series([5])) == ["5.00"]


@pytest.mark.parametrize(("cents", "text"), [(0, "0.00"), (5, "0.05"), (-5, "-0.05"), (154760, "1547.60")])
def test_scaled_counts_print_as_decimals(cents: int, text: str) -> None:
    assert printed(decimal(2, unscaled=True), pl.Series([cents])) == [text]


def test_scaled_counts_of_any_size_are_exact() -> None:
    assert printed(decimal(4, unscaled=True), pl.Series([2**63 - 1])) == ["922337203685477.5807"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("100", "100"),
        ("0", "0"),
        ("947.50", "947.5"),
        ("-0.10", "-0.1"),
        ("0.000000000000000001", "0.000000000000000001"),
    ],
)
def test_plain_numbers_have_no_trailing_zeros(value: str, text: str) -> None:
    assert printed(DECIMAL, pl.Series([Decimal(value)], dtype=MONEY)) == [text]


def test_plain_takes_whole_numbers_as_they_are() -> None:
    assert printed(DECIMAL, pl.Series([120153886644, 100])) == ["120153886644", "100"]


def test_texts_are_joined() -> None:
    lists = pl.Series([["a", "b; c"], [], None], dtype=pl.List(pl.String))
    assert printed(TEXT_LIST, lists) == ["a; b; c", "", None]


def test_dates_print_as_iso() -> None:
    assert printed(DATE, pl.Series([dt.date(1999, 1, 2), None])) == ["1999-01-02", None]


@pytest.mark.parametrize("output", [TEXT, INTEGER, FLOAT, DECIMAL, decimal(2), decimal(2, unscaled=True)])
def test_null_prints_as_null(output: Output) -> None:
    assert printed(output, pl.Series([None], dtype=pl.Int64)) == [None]


def test_booleans_print_as_words() -> None:
    assert printed(BOOLEAN, pl.Series([True, False, None])) == ["true", "false", None]


def test_times_print_as_iso_8601_with_six_digits_of_a_fraction_or_none() -> None:
    times = pl.Series([dt.datetime(2024, 1, 2, 3, 4, 5), dt.datetime(2024, 1, 2, 3, 4, 5, 60), None])
    expected = ["2024-01-02T03:04:05", "2024-01-02T03:04:05.000060"]
    assert printed(TIMESTAMP, times) == [*expected, None]
    assert printed(TIMESTAMPTZ, times.dt.replace_time_zone("UTC")) == [*(text + "Z" for text in expected), None]
    assert [time.isoformat() for time in times.drop_nulls()] == expected


def test_a_year_prints_with_four_digits() -> None:
    assert printed(TIMESTAMP, pl.Series([dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)])) == [
        "0001-01-01T00:00:00",
        "9999-12-31T00:00:00",
    ]


def test_a_moment_of_another_zone_is_shown_in_utc() -> None:
    tokyo = pl.Series([dt.datetime(2024, 1, 1, 9)]).dt.replace_time_zone("Asia/Tokyo")
    assert printed(TIMESTAMPTZ, tokyo) == ["2024-01-01T00:00:00Z"]


def test_times_and_moments_are_never_mixed() -> None:
    times = pl.Series("seen", [dt.datetime(2024, 1, 1)])
    with pytest.raises(PlanError, match="seen has times without a zone: declare it as TIMESTAMP"):
        TIMESTAMPTZ.shape(times)
    with pytest.raises(PlanError, match=r"seen has times in a zone \(UTC\): declare it as TIMESTAMPTZ"):
        TIMESTAMP.shape(times.dt.replace_time_zone("UTC"))


def test_integer_valued_decimals_become_integers_if_all_values_fit() -> None:
    most = 2**63 - 1
    frame = pl.DataFrame(
        {"fits": [most, -most - 1, None], "large": [most + 1, 0, None], "cents": ["1.00", "2.00", None]},
        schema={"fits": pl.Decimal(38, 0), "large": pl.Decimal(38, 0), "cents": pl.String},
    ).with_columns(pl.col("cents").cast(pl.Decimal(38, 2)))
    narrowed = narrow_integers(frame)
    assert narrowed["fits"].to_list() == [most, -most - 1, None]
    assert narrowed.schema == {"fits": pl.Int64(), "large": pl.Decimal(38, 0), "cents": pl.Decimal(38, 2)}
    assert narrowed["large"].to_list() == frame["large"].to_list()
