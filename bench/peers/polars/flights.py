"""The flights queries in Polars; distances of the routes come from Python, a route once."""

from __future__ import annotations

import polars as pl

from bench.peers.geodesic import miles
from bench.peers.polars.session import scan, write
from bench.peers.task import Task

ROUTE = ["origin", "destination"]


def answer(task: Task) -> None:
    flights = scan(
        task.file("itineraries.csv", "itineraries_random_2M.csv"),
        leg_id="legId",
        search_date="searchDate",
        flight_date="flightDate",
        origin="startingAirport",
        destination="destinationAirport",
        duration="travelDuration",
        base_fare="baseFare",
        fare="totalFare",
        distance="totalTravelDistance",
        arrivals="segmentsArrivalAirportCode",
    )
    stops = pl.col("arrivals").str.split("||")
    stopping = flights.filter(pl.col("arrivals").str.count_matches("||", literal=True) >= 3).with_columns(
        stopovers=stops.list.head(stops.list.len() - 1).list.join("; ")
    )
    write(
        task,
        {
            "q1": stopping.select("leg_id", *ROUTE, "fare", "stopovers"),
            "q2": flights.filter(pl.col("distance").is_not_null())
            .select("leg_id", *ROUTE, pl.col("distance").cast(pl.Float64))
            .join(_routes(flights, task), on=ROUTE)
            .filter(pl.col("distance") > 4 * pl.col("direct"))
            .drop("direct"),
            "q3": _fastest(stopping),
            "q4": _dear(flights),
            "q5": flights.drop_nulls(["origin", "base_fare"])
            .group_by("origin", fare="base_fare")
            .agg(flights=pl.len())
            .filter(pl.col("flights") == pl.col("flights").max().over("origin"))
            .sort("origin", pl.col("fare").cast(pl.Float64)),
        },
    )


def _routes(flights: pl.LazyFrame, task: Task) -> pl.LazyFrame:
    """The routes flown between known airports, with their direct distance."""
    airports = (
        pl.scan_csv(
            task.file("airports-codepublic.csv"), separator=";", infer_schema=False, null_values="\\N", eol_char="\n"
        )
        .select(code="Airport Code", latitude="Latitude", longitude="Longitude")
        .unique("code", keep="first", maintain_order=True)
        .drop_nulls()
        .with_columns(pl.col("latitude", "longitude").cast(pl.Float64))
    )
    used = flights.select(ROUTE).drop_nulls().unique()
    start = airports.select(origin="code", lat1="latitude", lon1="longitude")
    end = airports.select(destination="code", lat2="latitude", lon2="longitude")
    direct = pl.struct("lat1", "lon1", "lat2", "lon2").map_elements(
        lambda ends: miles(ends["lat1"], ends["lon1"], ends["lat2"], ends["lon2"]), return_dtype=pl.Float64
    )
    return used.join(start, on="origin").join(end, on="destination").select(*ROUTE, direct=direct)


def _fastest(stopping: pl.LazyFrame) -> pl.LazyFrame:
    def part(unit: str) -> pl.Expr:
        return pl.col("duration").str.extract(f"([0-9]+){unit}").cast(pl.Int64).fill_null(0)

    order = ["duration_minutes", "leg_id", "flight_date", "search_date"]
    return (
        stopping.drop_nulls([*ROUTE, "duration"])
        .with_columns(duration_minutes=1440 * part("D") + 60 * part("H") + part("M"))
        .sort(*ROUTE, *order, maintain_order=True)
        .group_by(ROUTE, maintain_order=True)
        .head(2)
        .select(*ROUTE, "leg_id", "stopovers", "duration_minutes")
    )


def _dear(flights: pl.LazyFrame) -> pl.LazyFrame:
    # Whole cents, so that sums are exact.
    priced = flights.select(*ROUTE, cents=(pl.col("fare").cast(pl.Float64) * 100).round().cast(pl.Int64))
    return (
        priced.filter(pl.col("cents") > pl.col("cents").mean())
        .drop_nulls(ROUTE)
        .group_by(ROUTE)
        .agg(
            mean_fare=(pl.col("cents").sum() * 100 / pl.len()).round(0, "half_to_even") / 10_000,
            max_fare=pl.col("cents").max() / 100,
        )
        .sort(ROUTE)
    )
