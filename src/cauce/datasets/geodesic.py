"""Geodesic distance on the WGS-84 ellipsoid, in miles."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import polars as pl
from geographiclib.geodesic import Geodesic

METRES_PER_MILE = 1609.344

_NOWHERE = 1e300
_MIX = np.uint64(0x9E3779B97F4A7C15)


@lru_cache(maxsize=65_536)
def miles_between(latitude1: float, longitude1: float, latitude2: float, longitude2: float) -> float:
    if (latitude1, longitude1) == (latitude2, longitude2):
        return 0.0  # also for a latitude beyond a pole, where the geodesic is not defined
    metres: float = Geodesic.WGS84.Inverse(latitude1, longitude1, latitude2, longitude2, Geodesic.DISTANCE)["s12"]
    return metres / METRES_PER_MILE


def direct_miles(latitude1: str, longitude1: str, latitude2: str, longitude2: str) -> pl.Expr:
    """The distance in miles; null if a coordinate is null. Each distinct pair of places is computed once."""
    ends = [latitude1, longitude1, latitude2, longitude2]
    return pl.struct(ends).map_batches(_miles, return_dtype=pl.Float64)


def _miles(ends: pl.Series) -> pl.Series:
    """Deduplicates rows by a hash of their coordinates: comparing all four takes far longer."""
    places = ends.struct.unnest()
    mixed = np.zeros(len(ends), np.uint64)
    for column in places:
        # Null counts as a value here.
        bits = column.fill_null(_NOWHERE).to_numpy().view(np.uint64)
        mixed = (mixed ^ bits) * _MIX
        mixed ^= mixed >> np.uint64(32)
    keys = pl.DataFrame({"#key": mixed})
    firsts = keys.with_row_index("#row").unique("#key", keep="first", maintain_order=True)
    distinct = places[firsts["#row"].to_numpy()]
    lengths = [None if None in row else miles_between(*row) for row in distinct.iter_rows()]
    known = distinct.hstack([firsts["#key"], pl.Series("#miles", lengths, dtype=pl.Float64)])
    joined = keys.join(known, on="#key", how="left", maintain_order="left")
    if any(not joined[name].eq_missing(places[name]).all() for name in places.columns):
        # Hash collision: rare enough for the slow path.
        return pl.Series([None if None in row else miles_between(*row) for row in places.iter_rows()], dtype=pl.Float64)
    return joined["#miles"].fill_nan(None)
