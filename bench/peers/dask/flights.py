"""The flights queries in Dask: filtered and counted block by block, in one pass."""

from __future__ import annotations

from collections.abc import Mapping

import dask
import dask.dataframe as dd
import pandas as pd

from bench.peers.columns import FLIGHTS
from bench.peers.dask.session import read, start
from bench.peers.pandas import flights as small
from bench.peers.pandas.session import write
from bench.peers.task import Task


def answer(task: Task) -> None:
    start(task)
    needed = {name: header for name, (header, queries) in FLIGHTS.items() if task.asks(*queries)}
    flights = read(task.file("itineraries.csv", "itineraries_random_2M.csv"), needed, small.NUMBERS)
    lazy = _parts(flights, task)
    found = dict(zip(lazy, dask.compute(*lazy.values()), strict=True))
    write(
        task,
        {
            "q1": lambda: found["stopping"][["leg_id", *small.ROUTE, "fare", "stopovers"]],
            "q2": lambda: found["detours"],
            "q3": lambda: small.fastest(found["stopping"]),
            "q4": lambda: _dear(found["fares"]),
            "q5": lambda: small.most_frequent(found["bases"]),
        },
    )


def _parts(flights: dd.DataFrame, task: Task) -> Mapping[str, dd.DataFrame | dd.Series]:
    """Inputs of the queries, each much smaller than the flights."""
    parts = {}
    if task.asks("q1", "q3"):
        parts["stopping"] = flights.map_partitions(small.with_stopovers)
    if task.asks("q2"):
        parts["detours"] = flights.map_partitions(small.detours, small.airports(task))
    if task.asks("q4"):
        # A histogram, since the mean that fares are compared with would need a second pass.
        parts["fares"] = flights.groupby([*small.ROUTE, "fare"]).size()
    if task.asks("q5"):
        parts["bases"] = flights.groupby(["origin", "base_fare"]).size()
    return parts


def _dear(fares: pd.Series) -> pd.DataFrame:
    counted = fares.rename("flights").reset_index()
    mean = (counted["fare"] * counted["flights"]).sum() / counted["flights"].sum()
    above = counted[counted["fare"] > mean]
    return small.dear(above.loc[above.index.repeat(above["flights"])], mean)
