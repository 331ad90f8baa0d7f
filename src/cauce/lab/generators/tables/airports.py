"""The `airports` table: semicolons, a byte order mark, CRLF, and nulls written as \\N."""

from __future__ import annotations

from collections.abc import Iterator

from cauce.lab.generators.draw import Draw
from cauce.lab.generators.tables.geography import AIRPORTS, COUNTRIES
from cauce.lab.generators.text.words import FAMILY, NOUNS, PATTERNS, PLACES, phrases
from cauce.lab.generators.writer import scaled

ROWS = 9_187
HEADER = (
    "\ufeffAirport Code;Airport Name;City Name;Country Name;Country Code;Latitude;Longitude;World Area Code;"
    "City Name geo_name_id;Country Name geo_name_id;coordinates\r\n"
)
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_NULL = r"\N"
_NAMES = PATTERNS["airports"]
_WORDS = {"place": PLACES, "family": FAMILY, "noun": [noun.capitalize() for noun in NOUNS]}


def blocks(scale: float, seed: int) -> Iterator[bytes]:
    """One block: the file is small, and holds at least the airports of all trips."""
    draw = Draw(seed, "flights", "airports")
    rows = min(26**3, max(len(AIRPORTS), scaled(ROWS, scale)))
    lines = [_known(number) for number in range(len(AIRPORTS))] + _others(draw, rows - len(AIRPORTS))
    order = draw.order(rows).tolist()
    yield (HEADER + "".join(lines[place] for place in order)).encode()


def _known(number: int) -> str:
    code, city, latitude, longitude, _ = AIRPORTS[number]
    return _line(code, f"{city} Intl", city, ("US", "United States"), (str(latitude), str(longitude)), number)


def _others(draw: Draw, count: int) -> list[str]:
    used = {code for code, *_ in AIRPORTS}
    order = draw.order(26**3).tolist()
    codes = [code for code in map(_code, order) if code not in used][:count]
    names = phrases(draw, _NAMES, _WORDS, count)
    countries = draw.below(len(COUNTRIES), count).tolist()
    latitudes, longitudes = draw.below(130_000_000, count).tolist(), draw.below(360_000_000, count).tolist()
    lines = []
    for number, code in enumerate(codes):
        place = (_degrees(latitudes[number] - 55_000_000), _degrees(longitudes[number] - 180_000_000))
        if number % 90 == 7:
            place = (_NULL, _NULL)
        city = names[number].removesuffix(" Municipal")
        lines.append(_line(code, names[number], city, COUNTRIES[countries[number]][:2], place, number))
    return lines


def _code(number: int) -> str:
    return _LETTERS[number // 676] + _LETTERS[number // 26 % 26] + _LETTERS[number % 26]


def _degrees(millionths: int) -> str:
    """As floats print: no trailing zeros, and sometimes rounding noise in the last digits."""
    whole, rest = divmod(abs(millionths), 1_000_000)
    tail = f"{rest:06d}".rstrip("0") or "0"
    noise = "000000002" if len(tail) == 6 and rest % 25 == 1 else ""
    return f"{'-' if millionths < 0 else ''}{whole}.{tail}{noise}"


def _line(code: str, name: str, city: str, country: tuple[str, str], place: tuple[str, str], number: int) -> str:
    city_id = _NULL if number % 5 < 2 else str(1_000_000 + 97 * number)
    country_id = "" if number % 97 == 50 else str(6_000_000 + 7 * (ord(country[0][0]) * 100 + ord(country[0][1])))
    where = _NULL if place[0] == _NULL else f"{place[0]}, {place[1]}"
    area = str(100 + ord(country[0][0]))
    return ";".join((code, name, city, country[1], country[0], *place, area, city_id, country_id, where)) + "\r\n"
