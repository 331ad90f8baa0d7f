"""The `books` table, and the dataset's tables with it."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote_plus

import numpy as np

from cauce.lab.generators.draw import Bools, Draw, Ints, cumulative, hexadecimal, quantiles
from cauce.lab.generators.tables import reviews
from cauce.lab.generators.tables.catalogue import CLASSIC_DECADES, Catalogue, catalogue
from cauce.lab.generators.tables.facts import facts
from cauce.lab.generators.text import prose
from cauce.lab.generators.text.words import ADJECTIVES, FAMILY, GIVEN, NOUNS, PATTERNS, PLACES, phrases
from cauce.lab.generators.writer import Table, cell, cells, choose, join_columns, scaled, spans

BOOKS, REVIEWS = 212_404, 3_000_000
HEADER = b"Title,description,authors,image,previewLink,publisher,publishedDate,infoLink,categories,ratingsCount\n"
_BLOCK_ROWS = 4096
_SITE = "http://books.example.org/books"

_DECADES = (1840, 1880, 1900, 1910, 1920, 1930, 1940, 1950, 1960, 1970, 1980, 1990, 2000, 2010, 2020)
_DECADE_WEIGHTS = cumulative((2, 4, 6, 6, 7, 7, 8, 14, 30, 52, 112, 265, 400, 84, 3))
_DESCRIPTION_SENTENCES = (
    (0, 0), (279_999, 0), (280_000, 1), (400_000, 2), (550_000, 6), (750_000, 10), (900_000, 23),
    (980_000, 42), (1_000_000, 70),
)  # fmt: skip
_CATEGORIES = facts("categories")
_RARE = phrases(
    Draw(3, "categories"),
    ("{noun}s", "{noun}s, {adj}", "{adj} {noun}s", "{noun}s in literature"),
    {"noun": [noun.capitalize() for noun in NOUNS], "adj": [word.capitalize() for word in ADJECTIVES]},
    330,
)
_CATEGORY_WEIGHTS = cumulative([*(weight for _, weight in _CATEGORIES), *(1 for _ in _RARE)])
_CATEGORY_CELLS = [cell(str([name])) for name in (*(name for name, _ in _CATEGORIES), *_RARE)]
_NO_CATEGORY = 0.16
_COMPUTERS = next(i for i, (name, _) in enumerate(_CATEGORIES) if name == "Computers")


def tables(scale: float, seed: int) -> tuple[Table, ...]:
    books, rows = scaled(BOOKS, scale), scaled(REVIEWS, scale)
    return (
        Table("books", (("books_data.csv", lambda: _blocks(catalogue(books, rows, seed), seed)),)),
        Table("reviews", (("Books_rating.csv", lambda: reviews.blocks(books, rows, seed)),)),
    )


def _blocks(books: Catalogue, seed: int) -> Iterator[bytes]:
    yield HEADER
    for block, start, end in spans(len(books), _BLOCK_ROWS):
        yield _rows(Draw(seed, "books", "books", block), books, np.arange(start, end, dtype=np.int64))


def _rows(draw: Draw, books: Catalogue, rows: Ints) -> bytes:
    count = len(rows)
    titles = books.titles[int(rows[0]) : int(rows[-1]) + 1]
    sentences = quantiles(draw, _DESCRIPTION_SENTENCES, count)
    moods = draw.below(3, int(sentences.sum()))
    years = _years(draw, books, rows)
    image, preview, info = _links(draw, titles)
    return join_columns(
        cells(titles),
        prose.stories().cells(draw, sentences, moods),
        _authors(draw, books, rows),
        image,
        preview,
        _publishers(draw, count),
        _dates(draw, years, books.star[rows] + books.classic[rows] + books.distributed[rows] > -3),
        info,
        _categories(draw, books, rows),
        _ratings_counts(draw, count),
    )


def _years(draw: Draw, books: Catalogue, rows: Ints) -> Ints:
    """The year of each row: mostly drawn by decade; chosen for the queries in planted rows."""
    count = len(rows)
    years = np.array(_DECADES)[draw.pick(_DECADE_WEIGHTS, count)] + draw.below(10, count)
    star, classic, distributed = books.star[rows], books.classic[rows], books.distributed[rows]
    years = np.where(star >= 0, 1990 + star * 3 % 10, years)
    # A classic author has a title in each of eleven decades; every fourth author has two fewer.
    author, decade = classic // (CLASSIC_DECADES + 1), classic % (CLASSIC_DECADES + 1)
    decade = np.where((author % 4 == 3) & (decade > CLASSIC_DECADES - 2), 0, decade)
    years = np.where(classic >= 0, 1900 + 10 * decade + years % 10, years)
    edges = np.array([2004, 2000, 2023, 2011, 1999, 2008, 2017, 2024])
    return np.where(distributed >= 0, edges[distributed % len(edges)], years)


def _dates(draw: Draw, years: Ints, planted: Bools) -> list[bytes]:
    count = len(years)
    form = np.where(planted, draw.below(960, count), draw.below(1000, count)).tolist()
    months, days = (1 + draw.below(12, count)).tolist(), (1 + draw.below(28, count)).tolist()
    dates = []
    for year, kind, month, day in zip(years.tolist(), form, months, days, strict=True):
        if kind < 455:
            text = f"{year},"
        elif kind < 885:
            text = f"{year}-{month:02d}-{day:02d},"
        elif kind < 960:
            text = f"{year}-{month:02d},"
        elif kind < 964:
            text = f"{year}*,"
        else:
            text = f"{year // 100}??," if kind < 966 else ","
        dates.append(text.encode())
    return dates


def _authors(draw: Draw, books: Catalogue, rows: Ints) -> list[bytes]:
    """Lists as Python prints them, so that the quotes around a name depend on those within it."""
    count = len(rows)
    names = phrases(draw, _AUTHORS, _AUTHOR_WORDS, 3 * count)
    size = np.where(draw.chance(0.14, count), 2 + draw.below(2, count), 1)
    planted = (books.star[rows] >= 0) | (books.distributed[rows] >= 0)
    empty = (draw.chance(0.07, count) & ~planted).tolist()
    classic = (books.classic[rows] // (CLASSIC_DECADES + 1)).tolist()
    made = []
    for number, many in enumerate(size.tolist()):
        authors = names[3 * number : 3 * number + many]
        if classic[number] >= 0:
            authors[0] = _classic_name(classic[number])
        elif empty[number]:
            authors = []
        made.append(cell(str(authors) if authors else ""))
    return made


def _classic_name(number: int) -> str:
    return f"{GIVEN[number * 3 % len(GIVEN)]} van {FAMILY[-1 - number]}"


_AUTHORS = PATTERNS["authors"]
_AUTHOR_WORDS = {"given": GIVEN, "family": FAMILY, "letter": "ABCDEFGHJKLMNPRSTVW"}


def _links(draw: Draw, titles: list[str]) -> tuple[list[bytes], list[bytes], list[bytes]]:
    count = len(titles)
    ids = [key.decode() for key in hexadecimal(draw.octets(count, 6)).tolist()]
    plain, curled = draw.chance(0.18, count).tolist(), draw.chance(0.5, count).tolist()
    image, preview, info = [], [], []
    for number, (key, title) in enumerate(zip(ids, titles, strict=True)):
        curl = "&edge=curl" if curled[number] else ""
        address = f"{_SITE}/content?id={key}&printsec=frontcover&img=1&zoom=1{curl}&source=synthetic_api,"
        image.append(b"," if plain[number] else address.encode())
        query = f"{_SITE}?id={key}&dq={quote_plus(title)}&hl="
        preview.append(f"{query}&cd=1&source=synthetic_api,".encode())
        info.append(f"{query}&source=synthetic_api,".encode())
    return image, preview, info


def _publishers(draw: Draw, count: int) -> list[bytes]:
    return choose(_PUBLISHERS, np.where(draw.chance(0.32, count), 0, draw.below(len(_PUBLISHERS), count)))


_PUBLISHERS = [
    b",",
    *cells(
        phrases(
            Draw(3, "publishers"),
            ("{place} Press", "{family} & Sons", "{family}, {family} & Co.", "University of {place} Press",
             "{noun} Books", "{family}'s Editions", "{adj} {noun} Publishing, Inc."),
            {"place": PLACES, "family": FAMILY, "noun": [n.capitalize() for n in NOUNS],
             "adj": [a.capitalize() for a in ADJECTIVES]},
            3000,
        )
    ),
]  # fmt: skip


def _categories(draw: Draw, books: Catalogue, rows: Ints) -> list[bytes]:
    count = len(rows)
    chosen = draw.pick(_CATEGORY_WEIGHTS, count)
    star, distributed = books.star[rows], books.distributed[rows]
    empty = draw.chance(_NO_CATEGORY, count) & (books.classic[rows] < 0) & (star < 0) & (distributed < 0)
    chosen = np.where((star >= 0) & (star % 2 == 0), 0, chosen)
    chosen = np.where(distributed >= 0, _COMPUTERS, chosen)
    return choose([*_CATEGORY_CELLS, b","], np.where(empty, len(_CATEGORY_CELLS), chosen))


def _ratings_counts(draw: Draw, count: int) -> list[bytes]:
    values = 1 + draw.below(12, count) * draw.below(12, count)
    empty = draw.chance(0.77, count).tolist()
    return [b"\n" if none else b"%d.0\n" % value for value, none in zip(values.tolist(), empty, strict=True)]
