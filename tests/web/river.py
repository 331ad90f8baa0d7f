"""A dataset with long names, non-ASCII columns, a plan of many stages, and a query that fails on its data.

It is loaded by path (`cauce serve --dataset`); the tests import its names and `write_files`.
"""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl

from cauce.plan import (
    FLOAT,
    INTEGER,
    TEXT,
    Column,
    Dataset,
    Decimal,
    Integer,
    Relation,
    Table,
    Text,
    agg,
    decimal,
    desc,
    divide,
)

PATH = Path(__file__)
STATION_COUNT = 1204
FLOW = "durchschnittlicher_täglicher_abfluss_in_kubikmetern_je_sekunde_名前"
NAME = "river_measurements_with_names_that_are_longer_than_usual"
BY_STATION = "mean_discharge_of_every_station_with_the_number_of_visits"
BY_MONTH = "discharge_by_month_and_by_river_over_all_years_of_record"
COMPARED = "stations_compared_with_all_others_of_their_river_and_year"
FAILING = "remarks_that_are_whole_numbers_which_fails_on_other_texts"
_LEVELS = 9

stations = Table(
    "gauging_stations_of_the_river_and_of_all_of_its_tributaries",
    "stations.csv",
    {"station_id": Integer(), "station": Column("station_name", Text()), "river": Text(), "year": Integer()},
)
readings = Table(
    "daily_readings_of_every_station_as_they_were_transmitted",
    "readings.csv",
    {"station_id": Integer(), "day": Text(), "flow": Column(FLOW, Decimal()), "visits": Integer(), "remark": Text()},
)
dataset = Dataset(NAME, (stations, readings), source=PATH)


@dataset.query(station=TEXT, station_id=INTEGER, year=INTEGER, visits=INTEGER, **{FLOW: FLOAT})
def mean_discharge_of_every_station_with_the_number_of_visits() -> Relation:
    """The mean discharge of every station and how many visits were counted there, stations with most visits first"""
    grouped = readings.group_by("station_id").agg(all=agg.sum("flow"), rows=agg.count("flow"), visits=agg.sum("visits"))
    means = grouped.with_columns(**{FLOW: divide("all", "rows")})
    return means.join(stations, on="station_id").sort(desc("visits"), "station_id")


@dataset.query(month=TEXT, river=TEXT, discharge=decimal(2))
def discharge_by_month_and_by_river_over_all_years_of_record() -> Relation:
    """The discharge of each river by month"""
    months = readings.with_columns(month=pl.col("day").str.slice(0, 7)).join(stations, on="station_id")
    return months.group_by("month", "river").agg(discharge=agg.sum("flow")).sort("month", "river")


@dataset.query(river=TEXT, stations=INTEGER, highest=INTEGER)
def stations_compared_with_all_others_of_their_river_and_year() -> Relation:
    """Rivers by the number of their stations, computed through many stages"""
    level = readings.group_by("station_id").agg(visits=agg.sum("visits")).join(stations, on="station_id")
    for number in range(_LEVELS):
        # Other keys at each level, so that the planner cannot put two levels into one stage.
        key = "river" if number % 2 else "year"
        best = level.group_by(key).agg(**{f"best_{number}": agg.max("visits")})
        level = level.join(best, on=key, strategy="partition")
    last = pl.col(f"best_{_LEVELS - 1}")
    top = level.with_columns(highest=last).group_by("river").agg(stations=agg.count(), highest=agg.max("highest"))
    return top.sort(desc("stations"), "river")


@dataset.query(number=INTEGER)
def remarks_that_are_whole_numbers_which_fails_on_other_texts() -> Relation:
    """Remarks as whole numbers; a remark that is another text fails the job"""
    return readings.select(number=pl.col("remark").cast(pl.Int64, strict=True)).in_input_order()


def write_files(folder: Path) -> None:
    """Deterministic files for both tables."""
    rng = random.Random(7)
    folder.mkdir(parents=True, exist_ok=True)
    rivers = ("Río de la Plata", "Дунай", "長江", "Elbe-Havel-Kanal mit allen Nebenarmen und Altwassern der Region")
    names = [
        f"{number},Station {number} am {rivers[number % 4]},{rivers[number % 4]},{1950 + number % 70}"
        for number in range(100_001, 100_001 + STATION_COUNT)
    ]
    (folder / "stations.csv").write_text("\n".join(["station_id,station_name,river,year", *names]) + "\n", "utf-8")
    rows = []
    for number in range(5 * STATION_COUNT):
        day = f"{rng.randrange(2023, 2026)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"
        rows.append(f"{100_001 + number % STATION_COUNT},{day},{rng.random() * 900:.3f},{rng.randrange(9_000_000)},dry")
    (folder / "readings.csv").write_text("\n".join([f"station_id,day,{FLOW},visits,remark", *rows]) + "\n", "utf-8")


def spoil(readings: Path) -> None:
    """Every 97th reading has a discharge that is no number, every 151st two cells too many."""
    lines = readings.read_text("utf-8").splitlines()
    for number, line in enumerate(lines[1:], 1):
        if number % 97 == 0:
            station, day, _, visits, remark = line.split(",")
            lines[number] = ",".join([station, day, "n/a", visits, remark])
        elif number % 151 == 0:
            lines[number] = f"{line},more,cells"
    readings.write_text("\n".join(lines) + "\n", "utf-8")
