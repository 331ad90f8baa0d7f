"""Flight itineraries and airports: five questions on stopovers, detours, speed and fares."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from cauce.datasets.geodesic import direct_miles
from cauce.plan import (
    DECIMAL,
    INTEGER,
    POSITION,
    TEXT,
    TEXT_LIST,
    Column,
    Dataset,
    Date,
    Decimal,
    Duration,
    Fixed,
    Float,
    Relation,
    Table,
    Text,
    agg,
    decimal,
    desc,
    divide_half_even,
)

airports = Table(
    "airports",
    "airports-codepublic.csv",
    {
        "airport": Column("Airport Code", Text()),
        "latitude": Column("Latitude", Float()),
        "longitude": Column("Longitude", Float()),
    },
    delimiter=";",
    null="\\N",
    small=True,
)
flights = Table(
    "flights",
    ["itineraries.csv", "itineraries_random_2M.csv"],
    {
        "leg_id": Column("legId", Text()),
        "search_date": Column("searchDate", Date()),
        "flight_date": Column("flightDate", Date()),
        "origin": Column("startingAirport", Text()),
        "destination": Column("destinationAirport", Text()),
        "duration_minutes": Column("travelDuration", Duration()),
        "base_fare": Column("baseFare", Fixed(2)),
        "fare": Column("totalFare", Fixed(2)),
        "distance": Column("totalTravelDistance", Decimal()),
        "miles": Column("totalTravelDistance", Float(), again=True),
        "arrivals": Column("segmentsArrivalAirportCode", Text()),
    },
)
dataset = Dataset("flights", (airports, flights), source=Path(__file__))

stops = pl.col("arrivals").str.split("||")
stopping = flights.filter(pl.col("arrivals").str.count_matches("||", literal=True) >= 3).with_columns(
    stopovers=stops.list.slice(0, stops.list.len() - 1)
)


@dataset.query(leg_id=TEXT, origin=TEXT, destination=TEXT, fare=decimal(2, unscaled=True), stopovers=TEXT_LIST)
def q1() -> Relation:
    """Flights with 3 or more stopovers"""
    return stopping.select("leg_id", "origin", "destination", "fare", "stopovers").in_input_order()


@dataset.query(leg_id=TEXT, origin=TEXT, destination=TEXT, distance=DECIMAL)
def q2() -> Relation:
    """Flights more than 4 times as long as the direct way"""
    places = airports.group_by("airport").agg(latitude=agg.first("latitude"), longitude=agg.first("longitude"))
    start = places.select(origin="airport", from_latitude="latitude", from_longitude="longitude")
    end = places.select(destination="airport", to_latitude="latitude", to_longitude="longitude")
    return (
        flights.filter(pl.col("miles").is_not_null())
        .join(start, on="origin", strategy="broadcast")
        .join(end, on="destination", strategy="broadcast")
        .with_columns(direct=direct_miles("from_latitude", "from_longitude", "to_latitude", "to_longitude"))
        .filter(pl.col("miles") > 4 * pl.col("direct"))
        .select("leg_id", "origin", "destination", "distance")
        .in_input_order()
    )


@dataset.query(origin=TEXT, destination=TEXT, leg_id=TEXT, stopovers=TEXT_LIST, duration_minutes=INTEGER)
def q3() -> Relation:
    """The 2 fastest of those with 3 or more stopovers, for each route"""
    order = ["duration_minutes", "leg_id", "flight_date", "search_date", POSITION]
    return (
        stopping.filter(pl.col("duration_minutes").is_not_null())
        .select("origin", "destination", "leg_id", "stopovers", "duration_minutes", "flight_date", "search_date")
        .top_k(2, by=order, per=["origin", "destination"])
        .sort("origin", "destination", *order)
    )


@dataset.query(origin=TEXT, destination=TEXT, mean_fare=decimal(4, unscaled=True), max_fare=decimal(2, unscaled=True))
def q4() -> Relation:
    """Mean and maximum fare of each route's flights above the general mean"""
    general = flights.filter(pl.col("fare").is_not_null()).agg(all_cents=agg.sum("fare"), all_flights=agg.count("fare"))
    # A histogram of fares needs only one pass, although the mean is known only after all rows.
    fares = flights.group_by("origin", "destination", "fare").agg(flights=agg.count())
    # In 128 bits: a 64-bit fare times a row count does not fit in 64 bits.
    wide = pl.col("fare").cast(pl.Int128)
    above = fares.with_scalars(general).filter(wide * pl.col("all_flights") > pl.col("all_cents"))
    return (
        above.select("origin", "destination", "fare", "flights", cents=wide * pl.col("flights"))
        .group_by("origin", "destination")
        .agg(cents=agg.sum("cents"), flights=agg.sum("flights"), max_fare=agg.max("fare"))
        .with_columns(hundredths=pl.col("cents") * 100)
        .with_columns(mean_fare=divide_half_even("hundredths", "flights"))
        .sort("origin", "destination")
    )


@dataset.query(origin=TEXT, fare=decimal(2, unscaled=True), flights=INTEGER)
def q5() -> Relation:
    """The most frequent base fare of each origin, all of them on a tie"""
    return (
        flights.select("origin", fare="base_fare")
        .group_by("origin", "fare")
        .agg(flights=agg.count())
        .top_k(1, by=desc("flights"), per="origin", ties="all")
        .sort("origin", "fare")
    )
