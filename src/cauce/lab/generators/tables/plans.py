"""Plans of trips for the `flights` table: path, times, carriers and distances, ready for a date."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from cauce.lab.generators.draw import Bools, Draw, Ints, Texts, cumulative
from cauce.lab.generators.tables.facts import facts
from cauce.lab.generators.tables.geography import AIRPORTS, ENDPOINTS, NOT_FLOWN, miles
from cauce.lab.generators.writer import pool

# Number of plans for trips of one to five segments.
_PLANS = (3_000, 7_000, 2_400, 1_000, 300)
_POPULAR = cumulative([504 if code == "LAX" else 171 if code == "OAK" else 300 for code, *_ in AIRPORTS[:ENDPOINTS]])
_MILES = [[miles(one, other) for other in range(len(AIRPORTS))] for one in range(len(AIRPORTS))]
_CARRIERS = facts("carriers")
_EQUIPMENT = facts("equipment")


@dataclass(frozen=True)
class Plans:
    """Plans of trips with as many segments; `first` is the number of the first among all plans."""

    first: int
    segments: int
    route: Texts
    duration: Texts
    dollars: Ints
    distance: Texts
    leave_s: Ints
    leave_days: Ints
    leave_text: Texts
    arrive_s: Ints
    arrive_days: Ints
    arrive_text: Texts
    tail: Texts

    def __len__(self) -> int:
        return len(self.route)


@lru_cache(maxsize=2)
def plans(seed: int) -> tuple[Plans, ...]:
    return tuple(
        _plans(Draw(seed, "flights", "plans", number), sum(_PLANS[:number]), number + 1, count)
        for number, count in enumerate(_PLANS)
    )


def routes() -> list[tuple[int, int]]:
    codes = [code for code, *_ in AIRPORTS]
    not_flown = {(codes.index(one), codes.index(other)) for one, other in NOT_FLOWN}
    pairs = [(one, other) for one in range(ENDPOINTS) for other in range(ENDPOINTS) if one != other]
    return [pair for pair in pairs if pair not in not_flown]


def _plans(draw: Draw, first: int, segments: int, count: int) -> Plans:
    paths = _paths(draw, segments, count)
    flown = np.array([[_MILES[a][b] for a, b in pairwise(path)] for path in paths])
    minutes = 30 + flown // 8 + draw.below(16, flown.size).reshape(flown.shape)
    waits = 40 + 5 * draw.below(40, flown.size).reshape(flown.shape)
    zones = np.array([[AIRPORTS[stop][4] for stop in path] for path in paths])
    start = 300 + 5 * draw.below(216, count)
    leave, arrive = _clock(start - 60 * zones[:, 0], minutes, waits)
    total = arrive[:, -1] - leave[:, 0]
    local_leave, local_arrive = leave + 60 * zones[:, :-1], arrive + 60 * zones[:, 1:]
    elapsed = local_arrive[:, -1] // 1440 - local_leave[:, 0] // 1440
    unknown = draw.chance(0.01, flown.size).reshape(flown.shape)
    return Plans(
        first,
        segments,
        route=pool(f"{AIRPORTS[path[0]][0]},{AIRPORTS[path[-1]][0]}," for path in paths),
        duration=pool(f"{_iso(t)},{days}," for t, days in zip(total.tolist(), elapsed.tolist(), strict=True)),
        dollars=29 + 10 * (flown.sum(axis=1) // 120) + 10 * draw.below(24, count),
        distance=_distances(flown, unknown),
        leave_s=60 * leave,
        leave_days=local_leave // 1440,
        leave_text=_local_texts(local_leave, zones[:, :-1]),
        arrive_s=60 * arrive,
        arrive_days=local_arrive // 1440,
        arrive_text=_local_texts(local_arrive, zones[:, 1:]),
        tail=_tails(draw, paths, minutes, flown, unknown),
    )


def _paths(draw: Draw, segments: int, count: int) -> list[list[int]]:
    """Airports from end to end: every route first, then the popular ones more often."""
    flown = routes()
    known = set(flown)
    ends = draw.pick(_POPULAR, 2 * count).reshape(count, 2).tolist()
    stops = draw.below(len(AIRPORTS), count * (segments + 5)).reshape(count, -1).tolist()
    paths = []
    for number in range(count):
        drawn = (ends[number][0], ends[number][1])
        one, other = drawn if number >= len(flown) and drawn in known else flown[number % len(flown)]
        paths.append([one, *_stops(stops[number], one, other, segments - 1, wild=number % 6 == 0), other])
    return paths


def _stops(drawn: list[int], one: int, other: int, count: int, *, wild: bool) -> list[int]:
    """Stops near the direct way if the drawn ones allow it, or a long detour."""
    found = [stop for stop in dict.fromkeys(drawn) if stop not in (one, other)]
    found += [stop for stop in range(ENDPOINTS, len(AIRPORTS)) if stop not in found]
    if wild:
        return found[:count]
    near = sorted(found, key=lambda stop: (_MILES[one][stop] + _MILES[stop][other], stop))[:count]
    return sorted(near, key=lambda stop: (_MILES[one][stop], stop))


def _clock(start: Ints, minutes: Ints, waits: Ints) -> tuple[Ints, Ints]:
    """Departure and arrival of each segment, in minutes (UTC) from the start of the first day."""
    both = minutes + waits
    leave = start[:, None] + np.cumsum(both, axis=1) - both
    return leave, leave + minutes


def _iso(minutes: int) -> str:
    days, rest = divmod(minutes, 1440)
    hours, left = divmod(rest, 60)
    time = (f"{hours}H" if hours else "") + (f"{left}M" if left else "")
    return "P" + (f"{days}D" if days else "") + (f"T{time}" if time else "")


def _local_texts(minutes: Ints, zones: Ints) -> Texts:
    """Time of the day and zone, with what follows the segment: a bar within the cell, a comma after it."""
    rows, segments = minutes.shape
    after = ["||"] * (segments - 1) + [","]
    texts = [
        f"T{minute % 1440 // 60:02d}:{minute % 60:02d}:00.000-{-zone:02d}:00{after[number % segments]}"
        for number, (minute, zone) in enumerate(zip(minutes.ravel().tolist(), zones.ravel().tolist(), strict=True))
    ]
    return pool(texts).reshape(rows, segments)


def _distances(flown: Ints, unknown: Bools) -> Texts:
    known: Bools = ~np.any(unknown, axis=1)
    return pool(
        f"{total}," if ok else "," for total, ok in zip(flown.sum(axis=1).tolist(), known.tolist(), strict=True)
    )


def _tails(
    draw: Draw,
    paths: list[list[int]],
    minutes: Ints,
    flown: Ints,
    unknown: Bools,
) -> Texts:
    """The last eight cells, which do not depend on the day."""
    count, segments = flown.shape
    carrier = draw.below(len(_CARRIERS), count).tolist()
    craft = draw.below(len(_EQUIPMENT), count * segments).reshape(count, segments).tolist()
    first_class = draw.chance(0.01, count).tolist()
    codes = [code for code, *_ in AIRPORTS]
    tails = []
    for number, path in enumerate(paths):
        name, code = _CARRIERS[carrier[number]]
        away = zip(flown[number].tolist(), unknown[number].tolist(), strict=True)
        columns = (
            [codes[stop] for stop in path[1:]],
            [codes[stop] for stop in path[:-1]],
            [name] * segments,
            [code] * segments,
            [_EQUIPMENT[one] for one in craft[number]],
            [str(60 * minute) for minute in minutes[number].tolist()],
            ["None" if hidden else str(distance) for distance, hidden in away],
            ["first" if first_class[number] else "coach"] * segments,
        )
        tails.append(",".join("||".join(column) for column in columns) + "\n")
    return pool(tails)
