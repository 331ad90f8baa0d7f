"""The flights dataset: five queries over itineraries, one of them with the airports' coordinates."""

from __future__ import annotations

from fractions import Fraction

from pyproj import Geod

from tests.oracle.cells import CENTS, DATE, DECIMAL, DURATION, FLOAT, TEXT
from tests.oracle.files import single
from tests.oracle.query import Connection, Dataset, Query
from tests.oracle.render import Row, cents, fixed, plain
from tests.oracle.sentiment import Scorer
from tests.oracle.tables import Table

METRES_PER_MILE = 1609.344

AIRPORTS = Table(
    "airports",
    single("airports-codepublic.csv"),
    kinds={"Airport Code": TEXT, "Latitude": FLOAT, "Longitude": FLOAT},
    uses={"q2": ("Airport Code", "Latitude", "Longitude")},
    delimiter=";",
    nulls=frozenset({"", "\\N"}),
)

FLIGHTS = Table(
    "flights",
    single("itineraries.csv", "itineraries_random_2M.csv"),
    kinds={
        "legId": TEXT,
        "searchDate": DATE,
        "flightDate": DATE,
        "startingAirport": TEXT,
        "destinationAirport": TEXT,
        "travelDuration": DURATION,
        "baseFare": CENTS,
        "totalFare": CENTS,
        "totalTravelDistance": DECIMAL,
        "segmentsArrivalAirportCode": TEXT,
    },
    uses={
        "q1": ("legId", "startingAirport", "destinationAirport", "totalFare", "segmentsArrivalAirportCode"),
        "q2": ("legId", "startingAirport", "destinationAirport", "totalTravelDistance"),
        "q3": (
            "legId",
            "searchDate",
            "flightDate",
            "startingAirport",
            "destinationAirport",
            "travelDuration",
            "segmentsArrivalAirportCode",
        ),
        "q4": ("startingAirport", "destinationAirport", "totalFare"),
        "q5": ("startingAirport", "baseFare"),
    },
)

STOPOVERS = "string_split(segmentsArrivalAirportCode, '||')[:-2]"


def q1(con: Connection, _score: Scorer) -> list[Row]:
    rows = con.execute(f"""
        SELECT legId, startingAirport, destinationAirport, totalFare, {STOPOVERS} AS stopovers
        FROM flights_q1
        WHERE len(stopovers) >= 3
        ORDER BY pos
    """).fetchall()
    return [
        (leg, origin, destination, None if fare is None else cents(fare), stopovers)
        for leg, origin, destination, fare, stopovers in rows
    ]


def q2(con: Connection, _score: Scorer) -> list[Row]:
    rows = con.execute("""
        WITH known AS (
            SELECT "Airport Code" AS code, Latitude AS latitude, Longitude AS longitude
            FROM airports_q2
            QUALIFY row_number() OVER (PARTITION BY "Airport Code" ORDER BY pos) = 1)
        SELECT legId, startingAirport, destinationAirport, totalTravelDistance,
               a.latitude, a.longitude, b.latitude, b.longitude
        FROM flights_q2
        JOIN known AS a ON a.code = startingAirport
        JOIN known AS b ON b.code = destinationAirport
        WHERE totalTravelDistance IS NOT NULL
          AND a.latitude IS NOT NULL AND a.longitude IS NOT NULL
          AND b.latitude IS NOT NULL AND b.longitude IS NOT NULL
        ORDER BY pos
    """).fetchall()
    earth = Geod(ellps="WGS84")
    direct_miles: dict[tuple[str, str], float] = {}
    answer: list[Row] = []
    for leg, origin, destination, distance, lat_a, lon_a, lat_b, lon_b in rows:
        route = (origin, destination)
        if route not in direct_miles:
            metres = 0.0 if origin == destination else earth.inv(lon_a, lat_a, lon_b, lat_b)[2]
            direct_miles[route] = metres / METRES_PER_MILE
        if Fraction(distance) > 4 * direct_miles[route]:
            answer.append((leg, origin, destination, plain(distance)))
    return answer


def q3(con: Connection, _score: Scorer) -> list[Row]:
    return con.execute(f"""
        SELECT startingAirport, destinationAirport, legId, {STOPOVERS} AS stopovers, travelDuration
        FROM flights_q3
        WHERE len(stopovers) >= 3
          AND startingAirport IS NOT NULL AND destinationAirport IS NOT NULL AND travelDuration IS NOT NULL
        QUALIFY row_number() OVER (
            PARTITION BY startingAirport, destinationAirport
            ORDER BY travelDuration, legId, flightDate, searchDate, pos) <= 2
        ORDER BY startingAirport, destinationAirport, travelDuration, legId, flightDate, searchDate, pos
    """).fetchall()


def q4(con: Connection, _score: Scorer) -> list[Row]:
    rows = con.execute("""
        SELECT startingAirport, destinationAirport, sum(totalFare), count(*), max(totalFare)
        FROM flights_q4, (SELECT sum(totalFare) AS total, count(totalFare) AS fares FROM flights_q4)
        WHERE CAST(totalFare AS HUGEINT) * fares > total
          AND startingAirport IS NOT NULL AND destinationAirport IS NOT NULL
        GROUP BY startingAirport, destinationAirport
        ORDER BY startingAirport, destinationAirport
    """).fetchall()
    return [
        (origin, destination, fixed(Fraction(total, 100 * count), 4), cents(highest))
        for origin, destination, total, count, highest in rows
    ]


def q5(con: Connection, _score: Scorer) -> list[Row]:
    rows = con.execute("""
        SELECT startingAirport, baseFare, count(*) AS flights
        FROM flights_q5
        WHERE startingAirport IS NOT NULL AND baseFare IS NOT NULL
        GROUP BY startingAirport, baseFare
        QUALIFY rank() OVER (PARTITION BY startingAirport ORDER BY flights DESC) = 1
        ORDER BY startingAirport, baseFare
    """).fetchall()
    return [(origin, cents(fare), flights) for origin, fare, flights in rows]


DATASET = Dataset(
    tables=(AIRPORTS, FLIGHTS),
    queries={
        "q1": Query(("leg_id", "origin", "destination", "fare", "stopovers"), q1),
        "q2": Query(("leg_id", "origin", "destination", "distance"), q2),
        "q3": Query(("origin", "destination", "leg_id", "stopovers", "duration_minutes"), q3),
        "q4": Query(("origin", "destination", "mean_fare", "max_fare"), q4),
        "q5": Query(("origin", "fare", "flights"), q5),
    },
)
