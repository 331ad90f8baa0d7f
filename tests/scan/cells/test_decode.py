from __future__ import annotations

import datetime as dt
import decimal

import numpy as np
import polars as pl
import pytest

from cauce.scan.cells.decode import Parsed, parse, parse_series
from cauce.scan.cells.kinds import (
    Date,
    Decimal,
    Duration,
    FieldList,
    Fixed,
    Float,
    Identifier,
    Integer,
    Kind,
    Text,
    TextList,
    Timestamp,
    ZonedTimestamp,
)
from tests.scan.reading import BAD

SECONDS = Timestamp("%Y-%m-%d %H:%M:%S")
KINDS: list[tuple[Kind, str, object]] = [
    (Integer(), "-5", -5),
    (Identifier(), "17272.0", 17272),
    (Decimal(), "8.50", decimal.Decimal("8.5")),
    (Fixed(2), "8.5", 850),
    (Float(), "8.5", 8.5),
    (Date(), "2024-02-29", dt.date(2024, 2, 29)),
    (Timestamp(), "2024-02-29 06:00:00", dt.datetime(2024, 2, 29, 6)),
    (Duration(), "PT9H9M", 549),
    (TextList(), "['a', 'b']", ["a", "b"]),
    (FieldList("name"), "[{'id': 1, 'name': 'a'}]", ["a"]),
]
every_kind = pytest.mark.parametrize(("kind", "cell", "value"), KINDS, ids=lambda part: type(part).__name__)


def shown(parsed: Parsed, kind: Kind) -> list[object]:
    assert parsed.values.dtype == kind.dtype
    return [BAD if bad else value for value, bad in zip(parsed.values.to_list(), parsed.bad, strict=True)]


def column(kind: Kind, values: list[object], dtype: object = None) -> list[object]:
    return shown(parse_series(kind, pl.Series(values, dtype=dtype)), kind)


class TestParse:
    @every_kind
    def test_every_kind_reads_its_cells(self, kind, cell, value):
        raw = cell.encode()
        buf = np.frombuffer(b"?" + raw + b"?x!" + raw, np.uint8)
        start = np.array([1, 1, len(raw) + 2, len(raw) + 4])
        length = np.array([len(raw), 0, 2, len(raw)], np.int32)
        assert shown(parse(kind, buf, start, length), kind) == [value, None, BAD, value]

    def test_arrays_of_other_types_and_strides_are_brought_to_form(self):
        buf = np.frombuffer(b"1-2-3", np.uint8)
        parsed = parse(Integer(), buf, np.arange(6, dtype=np.uint32)[:5:2], np.ones(3, np.int64))
        assert parsed.values.to_list() == [1, 2, 3]

    @pytest.mark.parametrize(("start", "length"), [([0], [4]), ([-1], [1]), ([2], [-1]), ([9], [0]), ([0, 1], [1])])
    def test_a_cell_outside_the_buffer_is_an_error(self, start, length):
        with pytest.raises(ValueError, match="cell"):
            parse(Integer(), np.zeros(3, np.uint8), np.array(start), np.array(length))

    def test_text_is_not_parsed_here(self):
        with pytest.raises(TypeError, match="Text"):
            parse(Text(), np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int32))


class TestColumnsOfText:
    @every_kind
    def test_are_read_as_cells(self, kind, cell, value):
        assert column(kind, [cell, "", None, "?"]) == [value, None, None, BAD]

    @every_kind
    def test_of_bytes_are_read_as_cells(self, kind, cell, value):
        assert column(kind, [cell.encode(), b"", None, b"\xff"]) == [value, None, None, BAD]

    @every_kind
    def test_may_be_empty_or_all_null(self, kind, cell, value):
        assert column(kind, [], pl.String) == []
        assert column(kind, [None, None]) == [None, None]

    def test_may_be_a_slice_in_pieces(self):
        series = pl.concat([pl.Series(["1", "2", "x"]), pl.Series(["3", None])], rechunk=False)[1:]
        assert shown(parse_series(Integer(), series), Integer()) == [2, BAD, 3, None]

    def test_may_be_categories(self):
        assert column(Integer(), ["1", "x", "1"], pl.Categorical) == [1, BAD, 1]


class TestColumnsOfNumbers:
    @pytest.mark.parametrize(("kind", "value"), [(Integer(), 5), (Identifier(), 5), (Fixed(2), 500), (Float(), 5.0)])
    @pytest.mark.parametrize("dtype", [pl.Int8, pl.Int64, pl.UInt64, pl.Float32, pl.Float64, pl.Decimal(10, 2)])
    def test_hold_numbers_of_any_kind(self, kind, value, dtype):
        assert column(kind, [5, None], dtype) == [value, None]

    @pytest.mark.parametrize("dtype", [pl.Int8, pl.Int32, pl.Int64, pl.Float64, pl.Decimal(10, 2), pl.Decimal(38, 20)])
    def test_hold_decimals(self, dtype):
        assert column(Decimal(), [-5, None], dtype) == [decimal.Decimal(-5), None]

    def test_an_integer_beyond_64_bits_is_rejected(self):
        assert column(Integer(), [2**63 - 1, 2**63], pl.UInt64) == [2**63 - 1, BAD]

    def test_an_integer_beyond_17_digits_is_not_a_decimal(self):
        assert column(Decimal(), [10**17 - 1, 10**17]) == [decimal.Decimal(10**17 - 1), BAD]

    def test_a_decimal_with_too_many_places_is_rejected(self):
        assert column(Decimal(), [decimal.Decimal("1E-19"), decimal.Decimal(1)], pl.Decimal(38, 20)) == [
            BAD,
            1,
        ]

    def test_a_float_with_decimals_is_not_an_integer(self):
        assert column(Integer(), [2.0, 2.5]) == [2, BAD]

    def test_a_float_is_as_exact_as_its_shortest_digits(self):
        assert column(Decimal(), [0.1, 1e-7]) == [decimal.Decimal("0.1"), decimal.Decimal("1E-7")]

    def test_a_small_float_is_read_by_its_own_digits(self):
        assert column(Float(), [0.1], pl.Float32) == [0.1]

    @pytest.mark.parametrize("kind", [Integer(), Identifier(), Decimal(), Fixed(2), Float()])
    def test_nan_and_infinity_are_rejected(self, kind):
        assert column(kind, [float("nan"), float("inf"), float("-inf")]) == [BAD, BAD, BAD]

    def test_a_boolean_is_not_a_number(self):
        assert column(Integer(), [True, None]) == [BAD, None]


MOMENTS = [
    dt.datetime(2024, 1, 1),
    dt.datetime(2024, 1, 1, 6, 7, 8),
    dt.datetime(2024, 1, 1, 0, 0, 0, 5000),
    None,
]


class TestColumnsOfTimes:
    @pytest.mark.parametrize("unit", ["ms", "us", "ns"])
    def test_a_moment_fits_a_format_that_can_represent_it(self, unit):
        assert column(SECONDS, MOMENTS, pl.Datetime(unit)) == [*MOMENTS[:2], BAD, None]

    @pytest.mark.parametrize("unit", ["ms", "us", "ns"])
    def test_a_moment_is_a_date_if_it_is_midnight(self, unit):
        assert column(Date(), MOMENTS, pl.Datetime(unit)) == [dt.date(2024, 1, 1), BAD, BAD, None]

    def test_nanoseconds_do_not_fit_a_format_without_fractions(self):
        series = pl.Series([1, 0]).cast(pl.Datetime("ns"))
        assert shown(parse_series(SECONDS, series), SECONDS) == [BAD, dt.datetime(1970, 1, 1)]

    @pytest.mark.parametrize("unit", ["us", "ns"])
    def test_without_a_format_a_fraction_stays(self, unit):
        assert column(Timestamp(), MOMENTS, pl.Datetime(unit)) == MOMENTS

    def test_nanoseconds_are_truncated_to_microseconds_as_in_text(self):
        series = pl.Series([1_999, -1], dtype=pl.Int64).cast(pl.Datetime("ns"))
        expected = [dt.datetime(1970, 1, 1, 0, 0, 0, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)]
        assert shown(parse_series(Timestamp(), series), Timestamp()) == expected

    def test_a_moment_is_read_as_local_time_of_its_zone(self):
        series = pl.Series(MOMENTS[:2]).dt.replace_time_zone("America/Argentina/Buenos_Aires")
        assert shown(parse_series(Timestamp(), series), Timestamp()) == MOMENTS[:2]

    def test_a_date_is_a_date_and_the_time_of_its_midnight(self):
        assert column(Date(), [dt.date(2024, 1, 1), None]) == [dt.date(2024, 1, 1), None]
        assert column(Timestamp(), [dt.date(2024, 1, 1), None]) == [dt.datetime(2024, 1, 1), None]
        assert column(SECONDS, [dt.date(2024, 1, 1), None]) == [BAD, None]

    def test_a_column_with_a_zone_is_of_moments(self):
        tokyo = pl.Series([dt.datetime(2024, 1, 1, 9)]).dt.replace_time_zone("Asia/Tokyo")
        found = shown(parse_series(ZonedTimestamp(), tokyo), ZonedTimestamp())
        assert found == [dt.datetime(2024, 1, 1, tzinfo=dt.UTC)]

    def test_a_column_without_a_zone_needs_one_to_be_of_moments(self):
        clock = pl.Series([dt.datetime(2024, 3, 31, 1, 30), dt.datetime(2024, 3, 31, 2, 30), None])
        madrid = ZonedTimestamp("Europe/Madrid")
        assert shown(parse_series(ZonedTimestamp(), clock), ZonedTimestamp()) == [BAD, BAD, None]
        assert shown(parse_series(madrid, clock), madrid) == [dt.datetime(2024, 3, 31, 0, 30, tzinfo=dt.UTC), BAD, None]

    def test_years_have_four_digits(self):
        days = pl.Series([-719_163, -719_162, 2_932_896, 2_932_897], dtype=pl.Int32).cast(pl.Date)
        for series, kind in ((days, Date()), (days.cast(pl.Datetime("us")), Timestamp())):
            assert parse_series(kind, series).bad.tolist() == [True, False, False, True]

    @pytest.mark.parametrize("unit", ["ms", "us", "ns"])
    @pytest.mark.parametrize("count", [2**63 - 1, -(2**63)])
    @pytest.mark.parametrize("zone", [None, "Asia/Tokyo"])
    def test_a_moment_beyond_all_calendars_is_rejected_and_harmless(self, unit, count, zone):
        series = pl.Series([count, None]).cast(pl.Datetime(unit, zone))
        for kind in (SECONDS, Date(), Integer(), Float()):
            assert shown(parse_series(kind, series), kind) == [BAD, None]
        assert not parse_series(Text(), series).bad.any()

    @pytest.mark.parametrize("count", [2**31 - 1, -(2**31)])
    def test_a_day_beyond_all_calendars_is_rejected_and_harmless(self, count):
        series = pl.Series([count, None], dtype=pl.Int32).cast(pl.Date)
        for kind in (Timestamp(), Date(), Integer()):
            assert shown(parse_series(kind, series), kind) == [BAD, None]
        assert column(Text(), [count, None]) == [str(count), None]
        assert parse_series(Text(), series).values.to_list() == [f"@{count}", None]

    def test_a_span_is_a_duration_if_it_is_whole_minutes(self):
        spans = [dt.timedelta(days=1, hours=6, minutes=58), dt.timedelta(0), dt.timedelta(seconds=1), None]
        assert column(Duration(), spans) == [1858, 0, BAD, None]


class TestColumnsOfLists:
    @pytest.mark.parametrize("kind", [TextList(), FieldList()])
    def test_of_texts_are_kept_unchanged(self, kind):
        assert column(kind, [["a", ""], [], None]) == [["a", ""], [], None]

    def test_with_a_null_inside_are_rejected(self):
        assert column(TextList(), [["a", None], ["b"]]) == [BAD, ["b"]]

    def test_of_bytes_are_decoded(self):
        assert column(TextList(), [[b"a", b"\xff"], [], None]) == [["a", "\ufffd"], [], None]

    def test_of_one_size_are_lists_too(self):
        assert column(TextList(), [["a", "b"], None], pl.Array(pl.String, 2)) == [["a", "b"], None]

    def test_of_entries_give_their_field(self):
        entries = [
            [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}],
            [],
            None,
            [{"id": 3, "name": None}],
            [None],
        ]
        assert column(FieldList("name"), entries) == [["a", "b"], [], None, BAD, BAD]

    @pytest.mark.parametrize("field", ["id", "other"])
    def test_of_entries_without_a_text_there_are_rejected(self, field):
        assert column(FieldList(field), [[{"id": 1}], [], None]) == [BAD, [], None]

    @pytest.mark.parametrize("element", [1, ["a"], {"name": "a"}])
    def test_of_something_else_are_rejected_unless_empty(self, element):
        assert column(TextList(), [[element], [], None]) == [BAD, [], None]

    def test_that_are_only_ever_empty_need_no_type(self):
        assert column(TextList(), [[], None], pl.List(pl.Null)) == [[], None]

    @pytest.mark.parametrize("kind", [Integer(), Text(), Date()])
    def test_are_rejected_for_a_kind_of_single_cells(self, kind):
        assert column(kind, [["a"], None]) == [BAD, None]


class TestText:
    @pytest.mark.parametrize(
        ("values", "texts"),
        [
            (["a", "", None, " "], ["a", None, None, " "]),
            ([b"a", b"", None, b"\xffb"], ["a", None, None, "\ufffdb"]),
            ([1, -5, None], ["1", "-5", None]),
            ([1.0, 0.1, 1e16, -2.5e-7, None], ["1", "0.1", "1" + "0" * 16, "-0.00000025", None]),
            ([decimal.Decimal("75.50"), decimal.Decimal("100.00"), None], ["75.5", "100", None]),
            ([dt.date(2024, 1, 2), None], ["2024-01-02", None]),
            (
                [dt.datetime(2024, 1, 2), dt.datetime(2024, 1, 2, 3, 4, 5, 60)],
                ["2024-01-02 00:00:00", "2024-01-02 03:04:05.000060"],
            ),
            ([True, False, None], ["true", "false", None]),
        ],
    )
    def test_is_the_plain_text_of_any_value(self, values, texts):
        assert column(Text(), values) == texts
