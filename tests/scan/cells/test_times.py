from __future__ import annotations

import datetime as dt
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cauce.scan.cells.kinds import Date, Duration, Timestamp
from tests.scan.reading import BAD, read, read_one

SECONDS = Timestamp("%Y-%m-%d %H:%M:%S")


class TestDate:
    @pytest.mark.parametrize("cell", ["1970-01-01", "2024-02-29", "2000-02-29", "0001-01-01", "9999-12-31"])
    def test_is_a_day_of_the_calendar(self, cell):
        assert read_one(Date(), cell) == dt.date.fromisoformat(cell)

    @pytest.mark.parametrize(
        "cell",
        [
            *("2023-02-29", "1900-02-29", "2024-02-30", "2024-04-31", "2024-13-01", "2024-00-01"),
            *("2024-01-00", "2024-01-32", "0000-01-01", "0000-02-29"),
        ],
    )
    def test_a_day_that_does_not_exist_is_rejected(self, cell):
        assert read_one(Date(), cell) == BAD

    @pytest.mark.parametrize(
        "cell",
        [
            *("2024-1-01", "2024-01-1", "24-01-01", "20240101", "2024/01/01", "2024-01-01 ", " 2024-01-01"),
            *("2024-01-01 00:00:00", "2024-W01-1", "-024-01-01", "2024-0\uff11", "2024-01-0x", "1963*", "x"),
        ],
    )
    def test_another_form_is_rejected(self, cell):
        assert read_one(Date(), cell) == BAD

    def test_the_empty_cell_is_null(self):
        assert read_one(Date(), "") is None

    def test_every_day_of_four_centuries_and_both_ends(self):
        spans = [("1895-01-01", 150_000), ("0001-01-01", 800), ("9998-01-01", 730)]
        days = [dt.date.fromisoformat(first) + dt.timedelta(n) for first, count in spans for n in range(count)]
        assert read(Date(), [day.isoformat() for day in days]) == days


class TestTimestampOfSeconds:
    @pytest.mark.parametrize(
        "cell",
        ["1970-01-01 00:00:00", "2024-02-29 23:59:59", "0001-01-01 00:00:00", "9999-12-31 23:59:59"],
    )
    def test_is_a_second_that_exists(self, cell):
        assert read_one(SECONDS, cell) == dt.datetime.fromisoformat(cell)

    @pytest.mark.parametrize("time", ["24:00:00", "23:60:00", "23:59:60", "-1:00:00", "00:00:0x", "99:99:99"])
    def test_a_time_that_does_not_exist_is_rejected(self, time):
        assert read_one(SECONDS, f"2024-01-01 {time}") == BAD

    @pytest.mark.parametrize(
        "cell",
        [
            *("2024-01-01T00:00:00", "2024-01-01 00:00", "2024-01-01", "2024-01-01 00:00:00.0"),
            *("2024-01-01 00:00:00Z", "2024-01-01 00-00-00", "2023-02-29 00:00:00", " 2024-01-01 00:00:0"),
        ],
    )
    def test_another_form_is_rejected(self, cell):
        assert read_one(SECONDS, cell) == BAD

    def test_the_empty_cell_is_null(self):
        assert read_one(SECONDS, "") is None


class TestDuration:
    @pytest.mark.parametrize(
        ("cell", "minutes"),
        [
            *(
                ("PT9H9M", 549),
                ("PT9H", 540),
                ("PT9M", 9),
                ("P1DT6H58M", 1858),
                ("P1D", 1440),
                ("P1DT", 1440),
                ("P0D", 0),
            ),
            *(("P2DT5M", 2885), ("PT90M", 90), ("PT0H0M", 0), ("PT007M", 7), (f"PT{'0' * 40}5M", 5)),
            *((f"PT{2**63 - 1}M", 2**63 - 1), (f"P{(2**63 - 1) // 1440}D", (2**63 - 1) // 1440 * 1440)),
        ],
    )
    def test_is_whole_minutes(self, cell, minutes):
        assert read_one(Duration(), cell) == minutes

    @pytest.mark.parametrize(
        "cell",
        [
            *("P", "PT", "P1DTH", "1D", "PD", "PTH", "PTM", "PT1H1", "P1", "PT9M9H", "PT9M1D", "PT1D", "P1H"),
            *(
                "P1M",
                "PT9S",
                "PT9H9M9S",
                "pt9h",
                "PT-9M",
                "PT+9M",
                "PT9.5H",
                " PT9M",
                "PT9M ",
                "PT9H9H",
                "T9M",
            ),
            *("PT9\uff11M", f"PT{2**63}M", f"PT{2**64}M", f"PT{10**30}H", f"P{(2**63 - 1) // 1440 + 1}D"),
            f"PT1H{2**63 - 1}M",
        ],
    )
    def test_another_form_or_too_much_is_rejected(self, cell):
        assert read_one(Duration(), cell) == BAD

    def test_the_empty_cell_is_null(self):
        assert read_one(Duration(), "") is None


# Against Python's own calendar.

DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
TIME = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}", re.ASCII)
DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?)?", re.ASCII)


def expected(kind, cell: str) -> object:
    if cell == "":
        return None
    if isinstance(kind, Duration):
        found = DURATION.fullmatch(cell)
        if found is None or not any(found.groups()):
            return BAD
        days, hours, minutes = (int(number or 0) for number in found.groups())
        return days * 1440 + hours * 60 + minutes
    form, pattern = (DATE, "%Y-%m-%d") if isinstance(kind, Date) else (TIME, "%Y-%m-%d %H:%M:%S")
    # `strptime` accepts leap seconds, which these tables reject.
    if form.fullmatch(cell) is None or cell.endswith((":60", ":61")):
        return BAD
    try:
        moment = dt.datetime.strptime(cell, pattern)
    except ValueError:
        return BAD
    return moment.date() if isinstance(kind, Date) else moment


def random_cell(kind, rng: random.Random) -> str:
    def two(most: int) -> str:
        return f"{rng.choice([0, 1, most, most + 1, rng.randrange(100)]) % 100:02}"

    if isinstance(kind, Duration):
        parts = [rng.choice(["", f"{rng.randrange(10 ** rng.randrange(1, 6))}{letter}"]) for letter in "DHM"]
        cell = "P" + parts[0] + ("T" if any(parts[1:]) or rng.random() < 0.1 else "") + parts[1] + parts[2]
    else:
        year = rng.choice([0, 1, 1899, 1900, 2000, 2023, 2024, 9999, rng.randrange(10_000)])
        cell = f"{year:04}-{two(12)}-{rng.choice(['28', '29', '30', '31', two(31)])}"
        if isinstance(kind, Timestamp):
            cell += f" {two(23)}:{two(59)}:{two(59)}"
    if rng.random() < 0.2:
        at = rng.randrange(len(cell) + 1)
        cell = cell[:at] + rng.choice(["", *"0 9-:/PTDHM"]) + cell[at + rng.choice([0, 1]) :]
    return cell


@pytest.mark.parametrize("kind", [Date(), SECONDS, Duration()], ids=str)
def test_random_cells_read_as_python_reads_them(kind):
    rng = random.Random(str(kind))
    cells = [random_cell(kind, rng) for _ in range(20_000)]
    for cell, value in zip(cells, read(kind, cells), strict=True):
        assert value == expected(kind, cell), cell


@settings(max_examples=300)
@given(st.datetimes())
def test_any_moment_comes_back(moment):
    moment = moment.replace(microsecond=0, fold=0)
    assert read_one(SECONDS, moment.isoformat(" ")) == moment
    assert read_one(Date(), moment.date().isoformat()) == moment.date()
