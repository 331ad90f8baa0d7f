"""Small folders of seeded, hostile rows: every cell comes from a pool of forms that are easy to get wrong."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.e2e import rows
from tests.e2e.rows import Row

TITLES = [
    "Distributed systems",
    "DISTRIBUTED SYSTEMS",
    "DİSTRIBUTED",
    "ΟΔΟΣ distributed",
    "e\u0301",
    "é",
    "\U0001f600 distributed",
    "\uffee",
    "\U0001d4b3",
    'a "quoted" title',
    "two\nlines",
    "two\r\nlines",
    "a, b",
    " ",
    "",
    "NA",
]
DATES = [
    "1990",
    "1999-12-31",
    "1989",
    "2000",
    "2023",
    "2024",
    "1963*",
    "19??",
    "20010203",
    "c1995",
    "",
    "0999",
    "１９９５",
]
AUTHORS = ["['A']", "[\"O'C\", 'B, C']", "[]", "A", "", "['A', 'A']", "['\\u00e9', 'e']", "[None]", "['\U0001f600']"]
CATEGORIES = ["['Fiction']", "['FICTION', 'Computers']", "['computers']", "[]", "", "Fiction", "['Nonfiction']"]
SCORES = ["5.0", "4", "3.3333333333", "", "bad", "1e1", "-1", "+2.5", ".5", "0.1"]
TEXTS = ["good", "bad", "great!!", " ", "", 'I "love"\nit', "\U0001f600 \U0001f622", "not good, VERY bad", "ok"]

IDS = ["1", "2", "3.0", "3", "+4", "04", "5.", "1997-08-20", "", "2.5", "99999999999999999999", "-6", "x"]
COUNTRIES = [
    rows.names("Argentina"),
    rows.names("Argentina", "Spain"),
    rows.names("Spain", "Argentina", rows.USA),
    rows.names(rows.USA),
    rows.names("Chile"),
    rows.names("Côte d'Ivoire"),
    "[]",
    "",
    "[{'iso': 'AR'}]",
    "[{'name': None}]",
    "Argentina",
]
RELEASES = ["2000-01-01", "2009-12-31", "2010-01-01", "1999-12-31", "2005-02-30", "2005", "1", "", "2004-02-29\n"]
AMOUNTS = ["0", "0.0", "1", "100", "3.5", "1e6", "/a.jpg", "", "-7", "12345678901234567", "123456789012345678"]
STARS = ["5.0", "0.5", "3", "", "bad", "3.3", "4.7"]
CASTS = [
    rows.names("Ricardo Darín", "Sofía"),
    rows.names("Sofía"),
    rows.names("O'Hara", "Z", "Z"),
    "[]",
    "",
    "[{'name': 1}]",
    "[{'cast_id': None, 'name': \"D'Arc\"}, {'name': 'É'}]",
]

AIRPORTS = ["A", "B", "Z", "", "\U0001f600", "\uffee", "b"]
COORDINATES = ["0", "10.5", "-33.8", "\\N", "", "north", "1e1", "90", "-89.9999"]
DURATIONS = ["PT9H9M", "PT9H", "PT549M", "P1DT6H58M", "P1D", "PT", "P", "", "9H", "PT9M9H", "PT1.5H", "PT0M"]
FARES = ["100.00", "100", "100.0", "99.99", "100.01", "", "bad", "1.005", "-5", "1e2", "0", "1.0000"]
DISTANCES = ["100", "4000.50", "", "x", "0", "0.10", "27668", "00012", "-1"]
ARRIVALS = ["Z", "B||Z", "B||C||D||Z", "B||C||D||E||Z", "||||||", "B|||C||D||Z", "", "B||C||Z"]
DAYS = ["2022-05-01", "2022-05-02", "2022-02-30", "", "2022-5-1"]

TIMES = [
    "2024-01-01 06:00:00",
    "2024-01-31 05:59:59",
    "2025-06-30 23:00:00",
    "2025-07-01 23:00:01",
    "2023-12-31 12:00:00",
    "2026-01-01 12:00:00",
    "2024-02-30 12:00:00",
    "2024-02-29 24:00:00",
    "2024-02-29 12:00:00",
    "2024-02-29",
    "",
]
PAYMENTS = ["75", "74.99", "75.000000000000000001", "75.005", "75.015", "-80", "", "lots", "1e3", "0.125", "1000000"]
QUANTITIES = ["1", "2", "-1", "1.0", "", "x", "+3", "1000000000000"]
STORE_IDS = ["1", "1.0", "2", "3", "", "x"]
USER_IDS = ["10", "9", "9.0", "100", "", "11", "guest", "12"]
BIRTHS = ["1990-02-28", "1990-02-30", "", "2000-01-01"]

Pick = Callable[[Sequence[str]], str]


def _books(data: Path, rng: random.Random, pick: Pick, count: int) -> None:
    books = [rows.book(pick(TITLES), pick(DATES), pick(AUTHORS), pick(CATEGORIES), pick(TITLES)) for _ in range(count)]
    for year in range(1900, 2000, 10):
        books.insert(rng.randrange(len(books)), rows.book("T", str(year), "['\U0001f600', 'Ten', 'A']"))
    popular = [rows.review(title, pick(SCORES), "") for title in rng.sample(TITLES, 2) for _ in range(510)]
    reviews = popular + [rows.review(pick(TITLES), pick(SCORES), pick(TEXTS)) for _ in range(count)]
    rng.shuffle(reviews)
    rows.books_folder(data, books, reviews)


def _movies(data: Path, rng: random.Random, pick: Pick, count: int) -> None:
    def film() -> Row:
        return rows.movie(
            pick(IDS),
            pick(TITLES),
            genres=pick(COUNTRIES),
            release_date=pick(RELEASES),
            overview=pick(TEXTS),
            production_countries=pick(COUNTRIES),
            budget=pick(AMOUNTS),
            revenue=pick(AMOUNTS),
            original_language=rng.choice(["en", "en", "es", ""]),
        )

    rows.movies_folder(
        data,
        [film() for _ in range(3 * count)],
        [rows.rating(pick(IDS), pick(STARS)) for _ in range(2 * count)],
        [rows.credit(pick(IDS)) | {"cast": pick(CASTS)} for _ in range(count)],
    )


def _flights(data: Path, rng: random.Random, pick: Pick, count: int) -> None:
    def journey() -> Row:
        return rows.flight(
            rng.choice(["l1", "l2", "", "L1"]),
            pick(AIRPORTS),
            pick(AIRPORTS),
            searchDate=pick(DAYS),
            flightDate=pick(DAYS),
            travelDuration=pick(DURATIONS),
            baseFare=pick(FARES),
            totalFare=pick(FARES),
            totalTravelDistance=pick(DISTANCES),
            segmentsArrivalAirportCode=pick(ARRIVALS),
        )

    places = [rows.airport(pick(AIRPORTS), pick(COORDINATES), pick(COORDINATES)) for _ in range(12)]
    rows.flights_folder(data, [journey() for _ in range(2 * count)], places)


def _coffee(data: Path, rng: random.Random, pick: Pick, count: int) -> None:
    rows.coffee_folder(
        data,
        [rows.paid(pick(TITLES), pick(PAYMENTS), pick(TIMES), pick(STORE_IDS), pick(USER_IDS)) for _ in range(count)],
        [rows.sold(pick(STORE_IDS), pick(QUANTITIES), pick(PAYMENTS), pick(TIMES)) for _ in range(count)],
        [rows.store(pick(STORE_IDS), pick(TITLES)) for _ in range(4)],
        [rows.item(pick(STORE_IDS), pick(TITLES)) for _ in range(4)],
        [rows.user(pick(USER_IDS), pick(BIRTHS)) for _ in range(10)],
    )


_WRITERS = {"books": _books, "movies": _movies, "flights": _flights, "coffee": _coffee}


def write_hostile_rows(dataset: str, data: Path, seed: int, count: int = 60, *, damage: bool = True) -> None:
    """A folder of about `count` rows a table; the same seed gives the same bytes."""
    rng = random.Random(f"{dataset} {seed}")
    _WRITERS[dataset](data, rng, rng.choice, count)
    for path in sorted(data.rglob("*.csv")) if damage else ():
        path.write_bytes(_damaged(path.read_bytes(), rng))


def _damaged(content: bytes, rng: random.Random) -> bytes:
    """Corrupts some lines after the header, and sometimes the ends of all lines."""
    lines = content.split(b"\n")
    faults = [b'"not closed', b'a "b" c,"d"e', b"too,few", b"\xff\xfe", b"", b'"",""', b"\r", b'"two\nlines"x,']
    for _ in range(rng.randrange(3)):
        lines.insert(rng.randrange(1, len(lines)), rng.choice(faults))
    ending = rng.choice([b"\n", b"\n", b"\r\n"])
    mark = rng.choice([b"", b"", b"\xef\xbb\xbf"])
    return mark + ending.join(lines)
