"""The `flights` table, and the dataset's tables with it; rows are drawn from flight plans."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

import numpy as np

from cauce.lab.generators.draw import Draw, Ints, Texts, cumulative, hexadecimal, mixed
from cauce.lab.generators.tables import airports
from cauce.lab.generators.tables.plans import Plans, plans
from cauce.lab.generators.writer import Table, digits, packed, pool, scaled, spans

FLIGHTS = 82_138_753
HEADER = (
    b"legId,searchDate,flightDate,startingAirport,destinationAirport,fareBasisCode,travelDuration,elapsedDays,"
    b"isBasicEconomy,isRefundable,isNonStop,baseFare,totalFare,seatsRemaining,totalTravelDistance,"
    b"segmentsDepartureTimeEpochSeconds,segmentsDepartureTimeRaw,segmentsArrivalTimeEpochSeconds,"
    b"segmentsArrivalTimeRaw,segmentsArrivalAirportCode,segmentsDepartureAirportCode,segmentsAirlineName,"
    b"segmentsAirlineCode,segmentsEquipmentDescription,segmentsDurationInSeconds,segmentsDistance,segmentsCabinCode\n"
)
_BLOCK_ROWS = 1 << 14
# Trips of one to five segments, out of 10,000.
_SEGMENTS = cumulative((2_930, 6_280, 760, 28, 2))
_FIRST, _SEARCH_DAYS, _AHEAD_DAYS = date(2022, 4, 16), 173, 60
_FIRST_S = (_FIRST - date(1970, 1, 1)).days * 86_400
_DAYS = [(_FIRST + timedelta(days)).isoformat() for days in range(_SEARCH_DAYS + _AHEAD_DAYS + 5)]
_DATES, _DATES_CUT = pool(_DAYS), pool(f"{day}," for day in _DAYS)
_CENTS = pool(f".{cents:02d}," for cents in range(100))
_SEATS = pool(f"{seats}," for seats in (7, 7, 7, 9, 9, 1, 4, 2, 0, 3, 5, 6, 8, 10))
_NO_DISTANCE = 0.05


def tables(scale: float, seed: int) -> tuple[Table, ...]:
    rows = scaled(FLIGHTS, scale)
    return (
        Table("airports", (("airports-codepublic.csv", lambda: airports.blocks(scale, seed)),)),
        Table("flights", (("itineraries.csv", lambda: _blocks(rows, seed)),)),
    )


def _blocks(rows: int, seed: int) -> Iterator[bytes]:
    yield HEADER
    known = plans(seed)
    for block, start, end in spans(rows, _BLOCK_ROWS):
        # The file is in order of the day of search.
        search = np.arange(start, end, dtype=np.int64) * _SEARCH_DAYS // rows
        yield _rows(Draw(seed, "flights", "flights", block), known, search, seed)


def _rows(draw: Draw, known: tuple[Plans, ...], search: Ints, seed: int) -> bytes:
    """Trips with as many segments have rows of one shape: they are made together, then put in place."""
    kind = draw.pick(_SEGMENTS, len(search))
    places, lines = [], []
    for number, plan in enumerate(known):
        mine = np.flatnonzero(kind == number)
        if len(mine):
            places.append(mine)
            lines.extend(_trips(draw, plan, search[mine], seed).split(b"\n")[:-1])
    back = np.argsort(np.concatenate(places), kind="stable")
    return b"\n".join(map(lines.__getitem__, back.tolist())) + b"\n"


def _trips(draw: Draw, known: Plans, search: Ints, seed: int) -> bytes:
    count = len(search)
    plan = draw.below(len(known), count)
    ahead = 1 + draw.below(_AHEAD_DAYS, count)
    flight = search + ahead
    base, total = _fares(draw, known.dollars[plan], ahead, known.segments)
    basic = draw.chance(0.045, count).astype(np.int64)
    head = (
        _leg_ids(known.first + plan, flight, seed), b",",
        _DATES_CUT[search], _DATES_CUT[flight],
        known.route[plan], _FARE_CODES[draw.below(len(_FARE_CODES), count)], known.duration[plan],
        (_FLAGS_NON_STOP if known.segments == 1 else _FLAGS)[basic],
        *_money(base), *_money(total),
        _SEATS[draw.below(len(_SEATS), count)],
        np.where(draw.chance(_NO_DISTANCE, count), b",", known.distance[plan]),
    )  # fmt: skip
    times = (
        *_epochs(known.leave_s[plan], flight),
        *_local(known.leave_days[plan], known.leave_text[plan], flight),
        *_epochs(known.arrive_s[plan], flight),
        *_local(known.arrive_days[plan], known.arrive_text[plan], flight),
    )  # fmt: skip
    return packed((*head, *times, known.tail[plan]), count)


def _leg_ids(plan: Ints, flight: Ints, seed: int) -> Texts:
    """A leg is a plan on a day, whenever it is searched for: its id follows from the two."""
    leg = plan * 1024 + flight
    octets = np.stack([mixed(leg, 2 * seed + half) for half in (1, 2)], axis=1).astype("<u8").view(np.uint8)
    return hexadecimal(octets)


def _fares(draw: Draw, dollars: Ints, ahead: Ints, segments: int) -> tuple[Ints, Ints]:
    """Base and total in cents; taxes are a share of the fare and a sum for each segment."""
    count = len(dollars)
    dollars = dollars + 10 * (draw.below(28, count) * draw.below(28, count) // 28)
    dollars = np.where(ahead < 8, dollars + 120, dollars)
    dollars = np.where(draw.chance(0.004, count), dollars * 3, dollars)
    return (dollars * 100_000 + 537) // 1075, dollars * 100 + 1460 + 750 * (segments - 1)


def _money(cents: Ints) -> tuple[Texts, Texts]:
    whole, rest = np.divmod(cents, 100)
    return _WHOLE[whole], _CENTS[rest]


def _epochs(seconds: Ints, flight: Ints) -> Iterator[Texts | bytes]:
    last = seconds.shape[1] - 1
    for number in range(last + 1):
        high, low = np.divmod(_FIRST_S + flight * 86_400 + seconds[:, number], 100_000)
        yield digits(5)[high]
        yield digits(5)[low]
        yield b"," if number == last else b"||"


def _local(days: Ints, texts: Texts, flight: Ints) -> Iterator[Texts | bytes]:
    for number in range(days.shape[1]):
        yield _DATES[flight + days[:, number]]
        yield texts[:, number]


_WHOLE = pool(str(number) for number in range(10_000))
_FLAGS = pool(("False,False,False,", "True,False,False,"))
_FLAGS_NON_STOP = pool(("False,False,True,", "True,False,True,"))
_FARE_CODES = pool(
    f"{'KLQUVMHG'[n % 8]}{'A0'[n // 8 % 2]}{n // 16 % 7}{'NOJ'[n // 112 % 3]}A{n % 10}M{'QCNEX'[n % 5]},"
    for n in range(1500)
)
