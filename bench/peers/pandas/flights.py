"""The flights queries in pandas."""

from __future__ import annotations

import pandas as pd

from bench.peers.columns import FLIGHTS
from bench.peers.geodesic import miles
from bench.peers.pandas.session import read, write
from bench.peers.task import Task

NUMBERS = {"base_fare": "float64", "fare": "float64", "distance": "float64"}
REPEATED = {"origin": "category", "destination": "category", "search_date": "category", "flight_date": "category"}
ROUTE = ["origin", "destination"]


def answer(task: Task) -> None:
    needed = {name: header for name, (header, queries) in FLIGHTS.items() if task.asks(*queries)}
    flights = read(task.file("itineraries.csv", "itineraries_random_2M.csv"), needed, NUMBERS | REPEATED)
    stopping = with_stopovers(flights) if task.asks("q1", "q3") else flights
    write(
        task,
        {
            "q1": lambda: stopping[["leg_id", *ROUTE, "fare", "stopovers"]],
            "q2": lambda: detours(flights, airports(task)),
            "q3": lambda: fastest(stopping),
            "q4": lambda: dear(flights.dropna(subset=["fare"]), flights["fare"].mean()),
            "q5": lambda: most_frequent(flights.groupby(["origin", "base_fare"], observed=True).size()),
        },
    )


def with_stopovers(flights: pd.DataFrame) -> pd.DataFrame:
    """Those with three or more, as text."""
    found = flights[flights["arrivals"].str.count(r"\|\|") >= 3]
    return found.assign(stopovers=found["arrivals"].str.rsplit("||", n=1).str[0].str.replace("||", "; ", regex=False))


def airports(task: Task) -> pd.DataFrame:
    known = pd.read_csv(
        task.file("airports-codepublic.csv"),
        sep=";",
        usecols=["Airport Code", "Latitude", "Longitude"],
        encoding="utf-8-sig",
        na_values=["\\N"],
    )
    return known.drop_duplicates("Airport Code").dropna().set_index("Airport Code")


def detours(flights: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    far = flights.loc[flights["distance"].notna(), ["leg_id", *ROUTE, "distance"]]
    routes = far[ROUTE].drop_duplicates()
    routes = routes[routes["origin"].isin(known.index) & routes["destination"].isin(known.index)]
    ends = zip(known.loc[routes["origin"]].to_numpy(), known.loc[routes["destination"]].to_numpy(), strict=True)
    routes = routes.assign(direct=[miles(*start, *end) for start, end in ends])
    found = far.merge(routes, on=ROUTE)
    return found.loc[found["distance"] > 4 * found["direct"], ["leg_id", *ROUTE, "distance"]]


def fastest(stopping: pd.DataFrame) -> pd.DataFrame:
    timed = stopping.dropna(subset=[*ROUTE, "duration"])
    parts = [pd.to_numeric(timed["duration"].str.extract(f"([0-9]+){unit}", expand=False)).fillna(0) for unit in "DHM"]
    minutes = (1440 * parts[0] + 60 * parts[1] + parts[2]).astype("int64")
    # In text order, not in order of appearance.
    texts = {name: timed[name].astype("str") for name in (*ROUTE, "flight_date", "search_date")}
    ordered = timed.assign(duration_minutes=minutes, **texts).sort_values(
        [*ROUTE, "duration_minutes", "leg_id", "flight_date", "search_date"], kind="stable"
    )
    return ordered.groupby(ROUTE).head(2)[[*ROUTE, "leg_id", "stopovers", "duration_minutes"]]


def dear(flights: pd.DataFrame, mean: float) -> pd.DataFrame:
    above = flights.loc[flights["fare"] > mean, [*ROUTE, "fare"]]
    # Whole cents, so that sums are exact; NumPy rounds half to even, as required.
    cents = (above["fare"] * 100).round().astype("int64")
    grouped = cents.groupby([above["origin"], above["destination"]], observed=True).agg(["sum", "size", "max"])
    fares = {"mean_fare": (grouped["sum"] * 100 / grouped["size"]).round() / 10_000, "max_fare": grouped["max"] / 100}
    return pd.DataFrame(fares).reset_index().sort_values(ROUTE)


def most_frequent(counts: pd.Series) -> pd.DataFrame:
    best = counts[counts == counts.groupby("origin", observed=True).transform("max")]
    return best.rename("flights").rename_axis(["origin", "fare"]).reset_index().sort_values(["origin", "fare"])
