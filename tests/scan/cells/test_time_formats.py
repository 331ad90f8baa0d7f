"""Dates and times in a user-defined format, against `strptime`."""

from __future__ import annotations

import datetime as dt
import random

import pytest

from cauce.errors import PlanError
from cauce.scan.cells.kinds import Date, Timestamp, ZonedTimestamp
from tests.scan.reading import BAD, read, read_one

NINE_UTC = dt.datetime(2024, 2, 1, 9, tzinfo=dt.UTC)
FORMATS = [
    *("%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%Y%m%d%H%M%S", "%d.%m.%y %H:%M", "%Y-%m-%d %H:%M:%S.%f"),
    *("%d-%b-%Y %I:%M:%S %p", "%d/%m/%Y", "year %Y, %d of %b, 100%% at %H h"),
]


@pytest.mark.parametrize("form", FORMATS)
def test_times_written_by_python_are_read_as_python_reads_them(form: str) -> None:
    rng = random.Random(form)
    first = dt.datetime(1970, 1, 1)
    moments = [first + dt.timedelta(microseconds=rng.randrange(90 * 365 * 86_400 * 10**6)) for _ in range(2_000)]
    cells = [moment.strftime(form) for moment in moments]
    assert read(Timestamp(form), cells) == [dt.datetime.strptime(cell, form) for cell in cells]


@pytest.mark.parametrize("form", FORMATS)
def test_a_changed_cell_is_rejected_or_read_as_python_reads_it(form: str) -> None:
    rng = random.Random(form)
    cells = []
    for _ in range(2_000):
        cell = dt.datetime(2024, rng.randint(1, 12), rng.randint(1, 28), rng.randint(0, 23), 59, 58).strftime(form)
        at = rng.randrange(len(cell))
        cells.append(cell[:at] + rng.choice(["", *"0123456789/ -:xP"]) + cell[at + rng.choice([0, 1]) :])
    for cell, value in zip(cells, read(Timestamp(form), cells), strict=True):
        # Python also accepts one digit for two and any space for a space, but at most six digits of a fraction.
        if value != BAD:
            assert value == dt.datetime.strptime(cell[:26] if "%f" in form else cell, form), cell


@pytest.mark.parametrize(
    ("kind", "cell", "value"),
    [
        (Date("%d/%m/%Y"), "29/02/2024", dt.date(2024, 2, 29)),
        (Date("%d/%m/%Y"), "02/29/2024", BAD),
        (Date("%d/%m/%Y"), "29/02/2023", BAD),
        (Date("%d/%m/%Y"), "1/2/2024", BAD),
        (Date("%-d/%-m/%Y"), "1/2/2024", dt.date(2024, 2, 1)),
        (Date("%-d/%-m/%Y"), "01/02/2024", dt.date(2024, 2, 1)),
        (Date("%-d/%-m/%Y"), "001/02/2024", BAD),
        (Date("%d-%b-%Y"), "05-SEP-2024", dt.date(2024, 9, 5)),
        (Date("%d-%b-%Y"), "05-Sept-2024", BAD),
        (Date("%d-%b-%Y"), "05-S", BAD),
        (Date("%d/%m/%y"), "01/01/69", dt.date(1969, 1, 1)),
        (Date("%d/%m/%y"), "01/01/68", dt.date(2068, 1, 1)),
        (Timestamp("%-m/%-d/%Y %-I:%M %p"), "1/2/2024 12:05 am", dt.datetime(2024, 1, 2, 0, 5)),
        (Timestamp("%-m/%-d/%Y %-I:%M %p"), "1/2/2024 12:05 PM", dt.datetime(2024, 1, 2, 12, 5)),
        (Timestamp("%-m/%-d/%Y %-I:%M %p"), "1/2/2024 13:05 PM", BAD),
        (Timestamp("%-m/%-d/%Y %-I:%M %p"), "1/2/2024 0:05 AM", BAD),
        (Timestamp("%-m/%-d/%Y %-I:%M %p"), "1/2/2024 1:05 XM", BAD),
        (Timestamp("%d/%m/%Y %H:%M"), "", None),
        (Timestamp("%d/%m/%Y %H:%M"), "01/02/2024 24:00", BAD),
        (Timestamp("%d/%m/%Y %H:%M"), "01/02/2024 10:00Z", BAD),
        (ZonedTimestamp(format="%d/%m/%Y %H:%M %z"), "01/02/2024 10:00 +02:00", NINE_UTC - dt.timedelta(hours=1)),
        (ZonedTimestamp(format="%d/%m/%Y %H:%M%z"), "01/02/2024 10:00", BAD),
        (ZonedTimestamp("Asia/Tokyo", "%d/%m/%Y %H:%M"), "01/02/2024 10:00", NINE_UTC - dt.timedelta(hours=8)),
        (ZonedTimestamp("Asia/Tokyo", "%d/%m/%Y %H:%M"), "01/02/2024 10:00Z", BAD),
    ],
)  # fmt: skip
def test_a_format_is_strict(kind: Timestamp, cell: str, value: object) -> None:
    assert read_one(kind, cell) == value


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ("%d/%m", "needs a year"),
        ("%Y-%m-%d %Q", "unknown directive %Q"),
        ("%Y-%m-%d %", "unknown directive"),
        ("%Y-%m-%d %m", "twice"),
        ("%Y-%m-%d %I:%M", "%p must be used together"),
        ("%Y-%m-%d %H:%M %p", "%p must be used together"),
        ("%Y-%m-%d %M", "without hours"),
        ("%Y-%m-%d %H:%M %z", "ZonedTimestamp"),
    ],
)
def test_an_invalid_format_is_rejected_when_it_is_declared(form: str, problem: str) -> None:
    with pytest.raises(PlanError, match=problem):
        Timestamp(form)


def test_a_date_has_no_time_of_day() -> None:
    with pytest.raises(PlanError, match="no time of day"):
        Date("%Y-%m-%d %H:%M")


def test_moments_need_an_offset_or_a_zone() -> None:
    with pytest.raises(PlanError, match="add %z"):
        ZonedTimestamp(format="%Y-%m-%d %H:%M")


def test_the_reason_of_a_reject_shows_a_readable_format() -> None:
    assert Timestamp("%Y-%m-%d %H:%M:%S").reason == "not a time (YYYY-MM-DD HH:MM:SS)"
    assert Date("%-d.%b.%y").reason == "not a date (D.Mon.YY)"
