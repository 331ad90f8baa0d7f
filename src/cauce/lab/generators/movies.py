"""The `movies` table, and the dataset's tables with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cauce.lab.generators.draw import Bools, Draw, Ints, cumulative, hexadecimal, quantiles
from cauce.lab.generators.tables import credits, ratings
from cauce.lab.generators.tables.films import (
    ARGENTINE,
    BLOCK_ROWS,
    COPRODUCTION,
    CREDITS,
    HIT,
    MOVIES,
    PLAIN,
    RATINGS,
    SHIFTED,
    SHORT,
    SOLO,
    TWIN,
    Films,
    films,
)  # fmt: skip
from cauce.lab.generators.tables.geography import COUNTRIES, GENRES, LANGUAGES
from cauce.lab.generators.text import prose
from cauce.lab.generators.text.words import ADJECTIVES, FAMILY, GIVEN, NOUNS, PATTERNS, PLACES, phrases
from cauce.lab.generators.writer import Table, cell, cells, choose, join_columns, scaled, spans

HEADER = (
    b"adult,belongs_to_collection,budget,genres,homepage,id,imdb_id,original_language,original_title,overview,"
    b"popularity,poster_path,production_companies,production_countries,release_date,revenue,runtime,"
    b"spoken_languages,status,tagline,title,video,vote_average,vote_count\n"
)
_OVERVIEW_SENTENCES = ((0, 0), (20_000, 1), (300_000, 3), (700_000, 7), (950_000, 11), (1_000_000, 19))
_COUNTRY_WEIGHTS = cumulative([weight for _, _, weight in COUNTRIES])
_LANGUAGE_WEIGHTS = cumulative([weight for _, _, weight in LANGUAGES])
_SOLO_BUDGETS = (61_000_000, 48_000_000, 35_500_000, 27_000_000, 9_000_000, 9_000_000, 4_100_000, 800_000, 1)
_WORDS = {
    "adj": [word.capitalize() for word in ADJECTIVES],
    "noun": [word.capitalize() for word in NOUNS],
    "place": PLACES, "given": GIVEN, "family": FAMILY,
}  # fmt: skip
_TITLES = PATTERNS["movie_titles"]
_TAGLINES = PATTERNS["taglines"]
_COMPANIES = PATTERNS["companies"]


def tables(scale: float, seed: int) -> tuple[Table, ...]:
    movies = scaled(MOVIES, scale)
    rated, credited = scaled(RATINGS, scale), scaled(CREDITS, scale)
    return (
        Table("movies", (("movies_metadata.csv", lambda: _blocks(movies, seed)),)),
        Table("ratings", (("ratings.csv", lambda: ratings.blocks(movies, rated, seed)),)),
        Table("credits", (("credits.csv", lambda: credits.blocks(movies, credited, seed)),)),
    )


def _blocks(movies: int, seed: int) -> Iterator[bytes]:
    yield HEADER
    known = films(movies, seed)
    for block, start, end in spans(movies, BLOCK_ROWS):
        part = Films(known.ids[start:end], known.kind[start:end], known.number[start:end])
        yield _rows(Draw(seed, "movies", "movies", block), part)


def _rows(draw: Draw, part: Films) -> bytes:
    count = len(part)
    titles = phrases(draw, _TITLES, _WORDS, count)
    posters = [b"/%s.jpg," % key for key in hexadecimal(draw.octets(count, 13)).tolist()]
    language = np.where(part.kind == HIT, 0, draw.pick(_LANGUAGE_WEIGHTS, count))
    budget, revenue = _money(draw, part)
    columns = (
        [b"False,"] * count,
        _collections(draw, count),
        [b"%d," % value for value in budget.tolist()],
        _records(draw, GENRES, 7, count),
        [b"http://films.example.org/%d," % i if i % 16 == 0 else b"," for i in part.ids.tolist()],
        [b"%d," % number for number in part.ids.tolist()],
        [b"tt%07d," % number for number in (part.ids * 3 + 40_011).tolist()],
        [LANGUAGES[i][0].encode() + b"," for i in language.tolist()],
        cells(titles),
        _overviews(draw, part),
        [b"%d.%06d," % divmod(value, 10**6) for value in (draw.below(1 << 25, count)).tolist()],
        posters,
        _companies(draw, count),
        _countries(draw, part),
        _dates(draw, part),
        [b"%d.0," % value for value in revenue.tolist()],
        [b"%d.0," % value for value in (60 + draw.below(90, count)).tolist()],
        [cell(str([{"iso_639_1": code, "name": name} for code, name, _ in [LANGUAGES[i]]])) for i in language.tolist()],
        choose(
            (b"Released,", b"Rumored,", b"Post Production,", b","),
            np.maximum(draw.below(400, count) - 396, 0),
        ),
        cells(phrases(draw, _TAGLINES, _WORDS, count)),
        cells(titles),
        [b"False,"] * count,
        [b"%d.%d," % divmod(value, 10) for value in (draw.below(50, count) + draw.below(51, count)).tolist()],
        [b"%d\n" % value for value in (draw.below(99, count) * draw.below(99, count) // 30).tolist()],
    )
    return join_columns(*_broken(columns, part, posters))


def _broken(columns: Sequence[list[bytes]], part: Films, posters: list[bytes]) -> Sequence[list[bytes]]:
    """Break records like those of the real file: truncated after ten cells, with shifted cells, or duplicated."""
    for row in part.where(SHIFTED).tolist():
        columns[0][row] = b" - Written by a stranger,"
        columns[2][row], columns[5][row] = posters[row], b"%d-0%d-01," % (1997 + row % 20, 1 + row % 9)
    for row in part.where(TWIN).tolist():
        for column in columns:
            column[row] = column[row - 1]
    for row in part.where(SHORT).tolist():
        for column in columns[10:]:
            column[row] = b""
        columns[9][row] = b"A record that ends before its time\n"
    return columns


def _money(draw: Draw, part: Films) -> tuple[Ints, Ints]:
    count = len(part)
    budget = (1 + draw.below(120, count)) * (1 + draw.below(120, count)) * 10_000
    revenue = budget // 100 * draw.below(700, count) + draw.below(1000, count)
    planted = np.isin(part.kind, (HIT, SOLO))
    # Of a hundred films 13 have both, 7 a budget only and 4 a revenue only.
    known = np.where(planted, 0, draw.below(100, count))
    budget = np.where(known < 20, budget, 0)
    revenue = np.where((known < 13) | ((known >= 20) & (known < 24)), revenue + 1, 0)
    solo = np.array(_SOLO_BUDGETS)[part.number % len(_SOLO_BUDGETS)]
    return np.where(part.kind == SOLO, solo, budget), revenue


def _overviews(draw: Draw, part: Films) -> list[bytes]:
    """Plots with one sentiment each; for the planted hits it alternates."""
    count = len(part)
    sentences = quantiles(draw, _OVERVIEW_SENTENCES, count)
    sentences = np.where(part.kind == PLAIN, sentences, np.maximum(sentences, 2))
    leaning = np.where(part.kind == HIT, part.number % 2, draw.below(2, count))
    each = np.repeat(leaning, sentences)
    mood = np.where(draw.chance(0.45, len(each)), prose.NEUTRAL, prose.POSITIVE + each)
    return prose.stories().cells(draw, sentences, mood)


def _dates(draw: Draw, part: Films) -> list[bytes]:
    count = len(part)
    year = 2017 - draw.below(105, count) * draw.below(105, count) // 104
    year = np.where(part.kind == COPRODUCTION, 2000 + part.number * 9 % 10, year)
    year = np.where(np.isin(part.kind, (ARGENTINE, HIT)), 2000 + part.number * 5 % 17, year)
    empty = draw.chance(0.002, count) & (part.kind == PLAIN)
    month, day = 1 + draw.below(12, count), 1 + draw.below(28, count)
    parts = zip(year.tolist(), month.tolist(), day.tolist(), empty.tolist(), strict=True)
    return [b"," if none else b"%d-%02d-%02d," % (y, m, d) for y, m, d, none in parts]


def _countries(draw: Draw, part: Films) -> list[bytes]:
    count = len(part)
    size = np.array([0, 1, 1, 1, 1, 1, 1, 1, 2, 3])[draw.below(10, count)]
    picked = draw.pick(_COUNTRY_WEIGHTS, 3 * count).reshape(count, 3)
    names = [name for _, name, _ in COUNTRIES]
    argentina, spain, usa = (names.index(n) for n in ("Argentina", "Spain", "United States of America"))
    made = []
    for row, (kind, number, many) in enumerate(
        zip(part.kind.tolist(), part.number.tolist(), size.tolist(), strict=True)
    ):
        chosen = picked[row, :many].tolist()
        if kind == COPRODUCTION:
            chosen = [argentina, spain][:: 1 if number % 2 else -1] + chosen[2:]
        elif kind in (ARGENTINE, HIT):
            chosen = [argentina if kind == ARGENTINE else usa, *chosen[1:]]
        elif kind == SOLO:
            chosen = [number % len(COUNTRIES)]
        entries = [{"iso_3166_1": COUNTRIES[i][0], "name": names[i]} for i in dict.fromkeys(chosen)]
        made.append(cell(str(entries)))
    return made


def _records(draw: Draw, options: Sequence[tuple[int, str]], most: int, count: int) -> list[bytes]:
    size = draw.below(most, count) * draw.below(most, count) // most
    picked = draw.below(len(options), most * count).reshape(count, most)
    return [
        cell(str([{"id": options[i][0], "name": options[i][1]} for i in dict.fromkeys(row[:many])]))
        for row, many in zip(picked.tolist(), (size + 1).tolist(), strict=True)
    ]


def _companies(draw: Draw, count: int) -> list[bytes]:
    names = iter(phrases(draw, _COMPANIES, _WORDS, 2 * count))
    pairs = zip(names, names, draw.below(3, count).tolist(), strict=True)
    return [
        cell(str([{"name": name, "id": 100 + len(name) * 37} for name in (one, two)[:many]]))
        for one, two, many in pairs
    ]


def _collections(draw: Draw, count: int) -> list[bytes]:
    some: Bools = draw.chance(0.1, count)
    names = iter(phrases(draw, ("{noun} Collection", "{given}'s {noun} Collection"), _WORDS, count))
    made = []
    for row, has_one in enumerate(some.tolist()):
        if not has_one:
            made.append(b",")
            continue
        image = f"/{row:07x}.jpg"
        made.append(cell(str({"id": 7 * row + 10, "name": next(names), "poster_path": None, "backdrop_path": image})))
    return made
