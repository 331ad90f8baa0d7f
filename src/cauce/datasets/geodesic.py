"""The length of the shortest way over the WGS-84 ellipsoid, in miles."""

from __future__ import annotations

from functools import lru_cache

import polars as pl
from geographiclib.geodesic import Geodesic

METRES_PER_MILE = 1609.344


@lru_cache(maxsize=65_536)
def miles_between(latitude1: float, longitude1: float, latitude2: float, longitude2: float) -> float:
    if (latitude1, longitude1) == (latitude2, longitude2):
        return 0.0  # also where the latitude is beyond a pole, for which the geodesic is not defined
    metres: float = Geodesic.WGS84.Inverse(latitude1, longitude1, latitude2, longitude2, Geodesic.DISTANCE)["s12"]
    return metres / METRES_PER_MILE


def direct_miles(latitude1: str, longitude1: str, latitude2: str, longitude2: str) -> pl.Expr:
    """Null where a coordinate is; each pair of places is computed once."""
    ends = [latitude1, longitude1, latitude2, longitude2]
    return pl.struct(ends).map_batches(_miles, return_dtype=pl.Float64)


def _miles(ends: pl.Series) -> pl.Series:
    distinct = ends.unique(maintain_order=True).struct.unnest()
    lengths = [None if None in row else miles_between(*row) for row in distinct.iter_rows()]
    known = distinct.with_columns(pl.Series("#miles", lengths, dtype=pl.Float64))
    joined = ends.struct.unnest().join(known, on=distinct.columns, how="left", nulls_equal=True, maintain_order="left")
    return joined["#miles"].fill_nan(None)
