"""The flights queries in DuckDB: one table of the needed columns; distances of the routes come from Python."""

from __future__ import annotations

from bench.peers.columns import FLIGHTS
from bench.peers.duckdb.session import Connection, connect, csv, write
from bench.peers.geodesic import miles
from bench.peers.task import Task

DECIMALS = ("base_fare", "fare", "distance")
COLUMNS = {
    name: (f"CAST({header} AS DECIMAL(12, 2))" if name in DECIMALS else header, queries)
    for name, (header, queries) in FLIGHTS.items()
}
"""Tables to load, and the queries that need them."""

AIRPORTS = """
CREATE TABLE airports AS
SELECT "Airport Code" AS code, CAST("Latitude" AS DOUBLE) AS latitude, CAST("Longitude" AS DOUBLE) AS longitude
FROM read_csv('{file}', header = true, all_varchar = true, delim = ';', nullstr = ['', '\\N'])
QUALIFY row_number() OVER (PARTITION BY code) = 1
"""

ENDS = """
SELECT a.code, b.code, a.latitude, a.longitude, b.latitude, b.longitude
FROM (SELECT DISTINCT origin, destination FROM trips WHERE distance IS NOT NULL)
JOIN airports AS a ON a.code = origin JOIN airports AS b ON b.code = destination
WHERE a.latitude IS NOT NULL AND a.longitude IS NOT NULL AND b.latitude IS NOT NULL AND b.longitude IS NOT NULL
"""

SHARED = """
CREATE MACRO part(text, unit) AS coalesce(TRY_CAST(regexp_extract(text, '([0-9]+)' || unit, 1) AS INTEGER), 0);
CREATE MACRO minutes(text) AS 1440 * part(text, 'D') + 60 * part(text, 'H') + part(text, 'M');
CREATE MACRO stopovers(arrivals) AS string_split(arrivals, '||')[:-2];
"""

QUERIES = {
    "q1": """
        SELECT leg_id, origin, destination, fare, array_to_string(stopovers(arrivals), '; ') AS stopovers
        FROM trips WHERE len(stopovers(arrivals)) >= 3""",
    "q2": """
        SELECT leg_id, origin, destination, distance
        FROM trips JOIN routes USING (origin, destination) WHERE distance > 4 * direct""",
    "q3": """
        SELECT origin, destination, leg_id, array_to_string(stopovers(arrivals), '; ') AS stopovers,
               minutes(duration) AS duration_minutes
        FROM trips
        WHERE len(stopovers(arrivals)) >= 3 AND duration IS NOT NULL
          AND origin IS NOT NULL AND destination IS NOT NULL
        QUALIFY row_number() OVER (
            PARTITION BY origin, destination ORDER BY duration_minutes, leg_id, flight_date, search_date) <= 2
        ORDER BY origin, destination, duration_minutes, leg_id, flight_date, search_date""",
    "q4": """
        SELECT origin, destination,
               round_even(100.0 * sum(CAST(fare * 100 AS BIGINT)) / count(*), 0) / 10000 AS mean_fare,
               max(fare) AS max_fare
        FROM trips
        WHERE fare > (SELECT avg(fare) FROM trips) AND origin IS NOT NULL AND destination IS NOT NULL
        GROUP BY origin, destination ORDER BY origin, destination""",
    "q5": """
        SELECT origin, base_fare AS fare, count(*) AS flights
        FROM trips WHERE origin IS NOT NULL AND base_fare IS NOT NULL
        GROUP BY origin, base_fare QUALIFY rank() OVER (PARTITION BY origin ORDER BY flights DESC) = 1
        ORDER BY origin, fare""",
}


def answer(task: Task) -> None:
    connection = connect(task)
    needed = [f"{column} AS {name}" for name, (column, queries) in COLUMNS.items() if task.asks(*queries)]
    files = csv(task.file("itineraries.csv", "itineraries_random_2M.csv"))
    connection.execute(f"CREATE TABLE trips AS SELECT {', '.join(needed)} FROM {files}")
    connection.execute(SHARED)
    if task.asks("q2"):
        connection.execute(AIRPORTS.format(file=task.file("airports-codepublic.csv")))
        _add_routes(connection)
    write(connection, task, QUERIES)


def _add_routes(connection: Connection) -> None:
    ends = connection.execute(ENDS).fetchall()
    connection.execute("CREATE TABLE routes (origin VARCHAR, destination VARCHAR, direct DOUBLE)")
    routes = [(start, end, miles(*places)) for start, end, *places in ends]
    if routes:
        connection.executemany("INSERT INTO routes VALUES (?, ?, ?)", routes)
