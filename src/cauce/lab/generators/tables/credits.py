"""The `credits` table: casts and crews as Python literals of some kilobytes a cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from cauce.lab.generators.draw import Draw, Ints, Octets, cumulative, hexadecimal, quantiles, zipf
from cauce.lab.generators.tables.facts import facts
from cauce.lab.generators.tables.films import ARGENTINE, COPRODUCTION, MOVIES, SHIFTED, SHORT, TWIN, films
from cauce.lab.generators.text.words import ADJECTIVES, FAMILY, GIVEN, NOUNS, PATTERNS, PEOPLE, phrases
from cauce.lab.generators.writer import choose, join_columns, spans

HEADER = b"cast,crew,id\n"
_BLOCK_ROWS = 1024
_CAST = ((0, 0), (60_000, 1), (250_000, 5), (500_000, 9), (800_000, 17), (950_000, 36), (995_000, 75), (1_000_000, 240))
_CREW = ((0, 0), (50_000, 1), (500_000, 5), (800_000, 13), (950_000, 30), (995_000, 90), (1_000_000, 200))
_STARS, _ACTORS, _CREW_MEMBERS = 36, 12_000, 12_000
_STAR_WEIGHTS = cumulative(zipf(_STARS))
_JOBS = facts("jobs")
_PERSON = PATTERNS["people"]
_ROLE = PATTERNS["roles"]
_WORDS = {
    "given": GIVEN, "family": FAMILY, "letter": "ABCDEFGHJKLMNPRSTW", "adj": ADJECTIVES, "person": PEOPLE,
    "noun": [noun.capitalize() for noun in NOUNS],
}  # fmt: skip


@dataclass(frozen=True)
class _Pools:
    """Parts of an entry, escaped for a quoted cell."""

    opened: list[bytes]
    roles: list[bytes]
    actors: list[bytes]
    orders: list[bytes]
    portraits: list[bytes]
    members: list[bytes]


def _escaped(texts: Sequence[str]) -> list[bytes]:
    return [text.replace('"', '""').encode() for text in texts]


@cache
def _pools() -> _Pools:
    draw = Draw(5, "credits")
    people = phrases(draw, _PERSON, _WORDS, _STARS + _ACTORS + _CREW_MEMBERS)
    # The films of one country share a few dozen actors, whose names must differ.
    people[:_STARS] = [f"{GIVEN[-1 - n]} {FAMILY[2 * n]}" for n in range(_STARS)]
    roles = phrases(draw, _ROLE, _WORDS, 8000)
    named = [
        f"', 'gender': {number % 3}, 'id': {number * 7 + 31}, 'name': {name!r}, 'order': "
        for number, name in enumerate(people[: _STARS + _ACTORS])
    ]
    portraits = ["None}", "None, 'uncredited': True}"] + [
        f"'/{key.decode()}.jpg'}}" for key in hexadecimal(draw.octets(4000, 13)).tolist()
    ]
    return _Pools(
        opened=[b"{'cast_id': %d, 'character': " % number for number in range(1200)],
        roles=_escaped([f"{role!r}, 'credit_id': '52fe4" for role in roles]),
        actors=_escaped(named),
        orders=[b"%d, 'profile_path': " % number for number in range(1200)],
        portraits=_escaped(portraits),
        members=_escaped([_member(number, name) for number, name in enumerate(people[_STARS + _ACTORS :])]),
    )


def _member(number: int, name: str) -> str:
    department, job = _JOBS[number % len(_JOBS)]
    about = f"', 'department': {department!r}, 'gender': {number // 7 % 3}, 'id': {number + 90_001}"
    return f"{about}, 'job': {job!r}, 'name': {name!r}, 'profile_path': "


def blocks(movies: int, rows: int, seed: int) -> Iterator[bytes]:
    yield HEADER
    ids, local = _credited(movies, rows, seed)
    for block, start, end in spans(rows, _BLOCK_ROWS):
        yield _rows(Draw(seed, "movies", "credits", block), ids[start:end], local[start:end])


def _credited(movies: int, rows: int, seed: int) -> tuple[Ints, Ints]:
    """The film of each row, and whether its cast is of the country that the queries ask for.

    Some rows repeat the film of another, and a few belong to no film at all.
    """
    draw = Draw(seed, "movies", "credited")
    known = films(movies, seed)
    film = np.concatenate([np.arange(movies), draw.below(movies, max(0, rows - movies))])[:rows]
    twins = draw.below(rows, max(1, rows * 34 // MOVIES))
    film[twins] = draw.below(movies, len(twins))
    ids = known.ids[film]
    kind = np.where(known.kind == TWIN, np.roll(known.kind, 1), known.kind)[film]
    ids = np.where((kind == SHORT) | (kind == SHIFTED), 10 * movies + 1 + film, ids)
    return ids, np.isin(kind, (ARGENTINE, COPRODUCTION)).astype(np.int64)


def _rows(draw: Draw, ids: Ints, local: Ints) -> bytes:
    count = len(ids)
    cast, crew = quantiles(draw, _CAST, count), quantiles(draw, _CREW, count)
    cast = np.where(local == 1, 4 + cast % 9, cast)
    return join_columns(
        _grouped(_cast_entries(draw, cast, local), cast),
        _grouped(_crew_entries(draw, int(crew.sum())), crew),
        [b"%d\n" % number for number in ids.tolist()],
    )


def _cast_entries(draw: Draw, sizes: Ints, local: Ints) -> list[bytes]:
    pools, count = _pools(), int(sizes.sum())
    order = np.arange(count) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    actors = _STARS + draw.below(_ACTORS, count)
    actors = np.where(np.repeat(local, sizes) == 1, draw.pick(_STAR_WEIGHTS, count), actors)
    return _entries(
        choose(pools.opened, order + draw.below(30, count)),
        choose(pools.roles, draw.below(len(pools.roles), count)),
        hexadecimal(_keys(draw, count)).tolist(),
        choose(pools.actors, actors),
        choose(pools.orders, order),
        choose(pools.portraits, _portrait(draw, count)),
    )


def _crew_entries(draw: Draw, count: int) -> list[bytes]:
    pools = _pools()
    return _entries(
        [b"{'credit_id': '52fe4"] * count,
        hexadecimal(_keys(draw, count)).tolist(),
        choose(pools.members, draw.below(len(pools.members), count)),
        choose(pools.portraits, _portrait(draw, count)),
    )


def _keys(draw: Draw, count: int) -> Octets:
    return draw.octets(count, 10)


def _portrait(draw: Draw, count: int) -> Ints:
    """Empty for many movies; a few entries have an additional key."""
    portrait = np.where(draw.chance(0.45, count), 0, draw.below(len(_pools().portraits), count))
    return np.where(draw.chance(0.01, count), 1, portrait)


def _entries(*parts: Sequence[bytes]) -> list[bytes]:
    return list(map(b"".join, zip(*parts, strict=True)))


def _grouped(entries: list[bytes], sizes: Ints) -> list[bytes]:
    """A list literal for each size; an empty one needs no quotes."""
    made, start = [], 0
    for size in sizes.tolist():
        body = b", ".join(entries[start : start + size])
        made.append(b'"[' + body + b']",' if size else b"[],")
        start += size
    return made
