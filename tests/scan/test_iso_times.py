"""Times in ISO 8601, with and without a zone, against Python's own reader and DuckDB."""

from __future__ import annotations

import datetime as dt
import random
import re

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cauce.errors import PlanError
from cauce.scan.cells.kinds import Timestamp, ZonedTimestamp
from tests.scan.reading import BAD, read, read_one

LOCAL, ZONED = Timestamp(), ZonedTimestamp()
MADRID = ZonedTimestamp("Europe/Madrid")
OFFSETS = ["Z", "z", "+00:00", "-00:00", "+02:00", "-03:30", "+0530", "-0800", "+14", "-12", " +02:00", " UTC"]


def utc(*parts: int) -> dt.datetime:
    return dt.datetime(*parts, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("cell", "time"),
    [
        ("2024-02-29 18:30:05", dt.datetime(2024, 2, 29, 18, 30, 5)),
        ("2024-02-29T18:30:05", dt.datetime(2024, 2, 29, 18, 30, 5)),
        ("2024-02-29t18:30", dt.datetime(2024, 2, 29, 18, 30)),
        ("2024-02-29 18:30:05.5", dt.datetime(2024, 2, 29, 18, 30, 5, 500_000)),
        ("2024-02-29 18:30:05,25", dt.datetime(2024, 2, 29, 18, 30, 5, 250_000)),
        ("2024-02-29", dt.datetime(2024, 2, 29)),
        ("0001-01-01", dt.datetime(1, 1, 1)),
        ("9999-12-31T23:59:59.999999999", dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)),
    ],
)
def test_a_time_without_an_offset_is_read_unchanged(cell: str, time: dt.datetime) -> None:
    assert read_one(LOCAL, cell) == time


@pytest.mark.parametrize("digits", range(1, 10))
def test_a_fraction_has_up_to_nine_digits_and_is_truncated_to_six(digits: int) -> None:
    fraction = "987654321"[:digits]
    micros = int(fraction[:6].ljust(6, "0"))
    assert read_one(LOCAL, f"2024-01-01T00:00:00.{fraction}") == dt.datetime(2024, 1, 1, 0, 0, 0, micros)


@pytest.mark.parametrize("offset", OFFSETS)
def test_a_time_with_an_offset_is_never_one_without_a_zone(offset: str) -> None:
    assert read_one(LOCAL, f"2024-01-01T00:00:00{offset}") == BAD


@pytest.mark.parametrize(
    ("offset", "moment"),
    [
        *[(zero, utc(2024, 1, 1)) for zero in ("Z", "z", "+00:00", "-00:00", "+00", "UTC", " UTC", " Z")],
        ("+02:00", utc(2023, 12, 31, 22)),
        ("+0530", utc(2023, 12, 31, 18, 30)),
        ("-08", utc(2024, 1, 1, 8)),
        (" -03:30", utc(2024, 1, 1, 3, 30)),
        ("+23:59", utc(2023, 12, 31, 0, 1)),
    ],
)
def test_an_offset_gives_the_moment_in_utc(offset: str, moment: dt.datetime) -> None:
    for cell in (f"2024-01-01T00:00{offset}", f"2024-01-01 00:00:00.000{offset}"):
        assert read_one(ZONED, cell) == moment
        assert read_one(MADRID, cell) == moment


@pytest.mark.parametrize(
    "cell",
    [
        *("2024-01-01T24:00", "2024-01-01T23:60", "2024-01-01T23:59:60", "2023-02-29T00:00", "2024-04-31"),
        *("2024-01-01T00", "2024-01-01T0000", "2024-01-01T", "2024-01-01 ", "2024-01-01T00:00:", "2024-01-01T00:00:0"),
        *("2024-01-01T00:00:00.", "2024-01-01T00:00:00.1234567890", "2024-01-01T00:00.5", "2024-01-01_00:00:00"),
        *("20240101T000000", "2024-W01-1", "2024-1-1 00:00", "01/02/2024", "1704067200", "T00:00:00", " 2024-01-01"),
        *("2024-01-01T00:00:00-24:00", "2024-01-01T00:00:00+00:60", "2024-01-01T00:00:00+1", "2024-01-01T00:00:00+"),
        *("2024-01-01T00:00:00  Z", "2024-01-01T00:00:00+02:0", "2024-01-01T00:00:00+02:000", "2024-01-01Z"),
        *("2024-01-01T00:00:00 EST", "2024-01-01T00:00:00 ", "2024-01-01T00:00:00utc", "\uff12024-01-01T00:00:00Z"),
    ],
)
def test_another_form_is_rejected_with_and_without_a_zone(cell: str) -> None:
    assert [read_one(kind, cell) for kind in (LOCAL, ZONED, MADRID)] == [BAD, BAD, BAD]


def test_the_empty_cell_is_null() -> None:
    assert [read_one(kind, "") for kind in (LOCAL, ZONED, MADRID)] == [None, None, None]


@pytest.mark.parametrize("cell", ["2024-01-01", "2024-01-01 00:00", "2024-01-01T00:00:00.5"])
def test_a_time_without_an_offset_needs_a_zone_to_be_a_moment(cell: str) -> None:
    assert read_one(ZONED, cell) == BAD
    assert read_one(MADRID, cell) == dt.datetime.fromisoformat(cell).replace(tzinfo=dt.UTC) - dt.timedelta(hours=1)


def test_a_time_that_the_zone_skips_or_shows_twice_is_rejected() -> None:
    assert read_one(MADRID, "2024-03-31 01:59:59") == utc(2024, 3, 31, 0, 59, 59)
    assert read_one(MADRID, "2024-03-31 02:30:00") == BAD
    assert read_one(MADRID, "2024-03-31 03:00:00") == utc(2024, 3, 31, 1)
    assert read_one(MADRID, "2024-10-27 02:30:00") == BAD
    assert read_one(MADRID, "2024-10-27 03:00:00") == utc(2024, 10, 27, 2)


@pytest.mark.parametrize("cell", ["0001-01-01T00:00+00:01", "9999-12-31T23:59:59-00:01"])
def test_a_moment_outside_of_the_calendar_is_rejected(cell: str) -> None:
    assert read_one(ZONED, cell) == BAD


def test_an_unknown_zone_is_rejected_when_it_is_declared() -> None:
    with pytest.raises(PlanError, match="unknown time zone"):
        ZonedTimestamp("Europe/Atlantis")


# Against Python: a format that both accept, parsed by Python itself.
_FORM = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?"
    r"(?P<offset> ?(?:[Zz]|UTC|[+-]\d{2}(?::?[0-5]\d)?))?)?",
    re.ASCII,
)


def expected(cell: str, zoned: bool) -> object:
    if cell == "":
        return None
    form = _FORM.fullmatch(cell)
    if form is None or bool(form["offset"]) is not zoned or "T24" in cell.upper().replace(" ", "T")[10:13]:
        return BAD
    body = cell[: form.start("offset")] if zoned else cell
    offset = (form["offset"] or "").strip().upper().replace("UTC", "Z")
    try:
        read = dt.datetime.fromisoformat(body.upper().replace(",", ".") + offset)
        return read.astimezone(dt.UTC) if zoned else read
    except (ValueError, OverflowError):
        return BAD


def random_cell(rng: random.Random) -> str:
    def two(most: int) -> str:
        return f"{rng.choice([0, 1, most, most + 1, rng.randrange(100)]) % 100:02}"

    year = rng.choice([0, 1, 1900, 2000, 2023, 2024, 9999, rng.randrange(10_000)])
    cell = f"{year:04}-{two(12)}-{rng.choice(['28', '29', '30', '31', two(31)])}"
    if rng.random() < 0.9:
        cell += f"{rng.choice('T T t')}{two(23)}:{two(59)}"
        if rng.random() < 0.8:
            cell += f":{two(59)}"
            if rng.random() < 0.5:
                cell += rng.choice(".,") + str(rng.randrange(10 ** rng.randrange(1, 11)))
        cell += rng.choice(["", "", *OFFSETS, f"+{two(23)}:{two(59)}"])
    if rng.random() < 0.2:
        at = rng.randrange(len(cell) + 1)
        cell = cell[:at] + rng.choice(["", *"0 9-:/.Z+"]) + cell[at + rng.choice([0, 1]) :]
    return cell


@pytest.mark.parametrize("zoned", [False, True])
def test_random_cells_read_as_python_reads_them(zoned: bool) -> None:
    rng = random.Random(zoned)
    cells = [random_cell(rng) for _ in range(20_000)]
    found = read(ZONED if zoned else LOCAL, cells)
    wrong = [(cell, value) for cell, value in zip(cells, found, strict=True) if value != expected(cell, zoned)]
    assert wrong == []
    assert sum(value != BAD for value in found) > 500


@settings(max_examples=200)
@given(st.datetimes(timezones=st.timezones() | st.just(dt.UTC) | st.none()))
def test_any_time_that_python_writes_comes_back(time: dt.datetime) -> None:
    written = time.isoformat()
    # Historical offsets have seconds, and some moments are outside the calendar.
    if re.search(r"[+-]\d\d:\d\d:\d\d", written[11:]):
        return
    try:
        moment = time.astimezone(dt.UTC) if time.tzinfo else None
    except OverflowError:
        moment = None if time.tzinfo is None else time
        assert read_one(ZONED, written) == BAD
        return
    assert read_one(LOCAL, written) == (time if moment is None else BAD)
    assert read_one(ZONED, written) == (BAD if moment is None else moment)


def test_times_of_a_zone_are_those_of_duckdb() -> None:
    hours = [dt.datetime(2024, 1, 1) + dt.timedelta(hours=hour) for hour in range(366 * 24)]
    cells = [hour.isoformat() for hour in hours]
    found = read(ZonedTimestamp("America/New_York"), cells)
    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    frame = pl.DataFrame({"cell": cells})  # noqa: F841  (named in the query)
    rows = connection.execute("select epoch_us(cell::timestamp at time zone 'America/New_York') from frame").fetchall()
    micros = [BAD if value == BAD else int(value.timestamp() * 1_000_000) for value in found]  # type: ignore[attr-defined]
    different = [cell for cell, ours, (theirs,) in zip(cells, micros, rows, strict=True) if ours != theirs]
    # DuckDB chooses one time if the clocks skip or repeat an hour; Cauce rejects these.
    assert different == ["2024-03-10T02:00:00", "2024-11-03T01:00:00"]
    assert [read_one(ZonedTimestamp("America/New_York"), cell) for cell in different] == [BAD, BAD]
