"""The flights queries in PySpark: needed columns cached; distances of the routes come from Python."""

from __future__ import annotations

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as fn

from bench.peers.columns import FLIGHTS
from bench.peers.geodesic import miles
from bench.peers.pyspark.session import read, spark, write
from bench.peers.task import Task

ROUTE = ["origin", "destination"]


def answer(task: Task) -> None:
    with spark(task) as session:
        needed = {name: header for name, (header, queries) in FLIGHTS.items() if task.asks(*queries)}
        flights = read(session, task.file("itineraries.csv", "itineraries_random_2M.csv"), needed)
        flights = flights.persist(StorageLevel.MEMORY_AND_DISK)
        write(
            task,
            {
                "q1": lambda: _stopping(flights).select("leg_id", *ROUTE, "fare", "stopovers"),
                "q2": lambda: _detours(session, flights, task),
                "q3": lambda: _fastest(_stopping(flights)),
                "q4": lambda: _dear(flights),
                "q5": lambda: _most_frequent(flights),
            },
        )


def _stopping(flights: DataFrame) -> DataFrame:
    stops = fn.split("arrivals", r"\|\|")
    found = flights.where(fn.size(stops) >= 4)
    return found.withColumn("stopovers", fn.array_join(fn.slice(stops, fn.lit(1), fn.size(stops) - 1), "; "))


def _detours(session: SparkSession, flights: DataFrame, task: Task) -> DataFrame:
    columns = {"code": "Airport Code", "latitude": "Latitude", "longitude": "Longitude"}
    path = task.file("airports-codepublic.csv")
    rows = read(session, path, columns, separator=";", null="\\N").collect()
    places: dict[str, tuple[str | None, str | None]] = {}
    for row in rows:
        places.setdefault(row["code"], (row["latitude"], row["longitude"]))
    known = {code: (float(at[0]), float(at[1])) for code, at in places.items() if at[0] and at[1]}
    far = flights.where("distance IS NOT NULL").select("leg_id", *ROUTE, fn.col("distance").cast("double"))
    flown = [(start, end) for start, end in far.select(ROUTE).distinct().collect() if start in known and end in known]
    direct = [(start, end, miles(*known[start], *known[end])) for start, end in flown]
    routes = session.createDataFrame(direct, "origin string, destination string, direct double")
    return far.join(fn.broadcast(routes), ROUTE).where("distance > 4 * direct").select("leg_id", *ROUTE, "distance")


def _fastest(stopping: DataFrame) -> DataFrame:
    def part(unit: str) -> Column:
        found = fn.nullif(fn.regexp_extract("duration", f"([0-9]+){unit}", 1), fn.lit(""))
        return fn.coalesce(found.cast("int"), fn.lit(0))

    minutes = 1440 * part("D") + 60 * part("H") + part("M")
    order = ["duration_minutes", "leg_id", "flight_date", "search_date"]
    place = fn.row_number().over(Window.partitionBy(*ROUTE).orderBy(*order))
    timed = stopping.dropna(subset=[*ROUTE, "duration"]).withColumn("duration_minutes", minutes)
    best = timed.withColumn("place", place).where("place <= 2").sort(*ROUTE, *order)
    return best.select(*ROUTE, "leg_id", "stopovers", "duration_minutes")


def _dear(flights: DataFrame) -> DataFrame:
    # Whole cents, so that sums are exact.
    priced = flights.select(*ROUTE, fn.round(fn.col("fare").cast("double") * 100).cast("bigint").alias("cents"))
    mean = priced.agg(fn.avg("cents")).first()[0]
    return (
        priced.where(fn.col("cents") > mean)
        .dropna(subset=ROUTE)
        .groupBy(*ROUTE)
        .agg(
            (fn.rint(fn.sum("cents") * 100 / fn.count("*")) / 10_000).alias("mean_fare"),
            (fn.max("cents") / 100).alias("max_fare"),
        )
        .sort(*ROUTE)
    )


def _most_frequent(flights: DataFrame) -> DataFrame:
    counts = flights.dropna(subset=["origin", "base_fare"]).groupBy("origin", "base_fare")
    counted = counts.agg(fn.count("*").alias("flights"))
    rank = fn.rank().over(Window.partitionBy("origin").orderBy(fn.desc("flights")))
    best = counted.withColumn("rank", rank).where("rank = 1")
    return best.select("origin", fn.col("base_fare").cast("double").alias("fare"), "flights").sort("origin", "fare")
