"""Geodesic distance on the WGS-84 ellipsoid, in miles."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import polars as pl
from geographiclib.geodesic import Geodesic

from cauce.scan.arrow import index_series
from cauce.scan.integers.numbering import number_keys

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
    """Numbers rows by a hash of their coordinates: comparing all four takes far longer."""
    places = ends.struct.unnest()
    # Null counts as a value here.
    words = [column.fill_null(_NOWHERE).to_numpy().view(np.uint64) for column in places]
    mixed = np.zeros(len(ends), np.uint64)
    for word in words:
        mixed = (mixed ^ word) * _MIX
        mixed ^= mixed >> np.uint64(32)
    numbered = number_keys(mixed)
    if any((word[numbered.firsts][numbered.numbers] != word).any() for word in words):
        # Hash collision: rare enough for the slow path.
        return _lengths(places).fill_nan(None)
    return _lengths(places[index_series(numbered.firsts)])[index_series(numbered.numbers)].fill_nan(None)


def _lengths(places: pl.DataFrame) -> pl.Series:
    lengths = [None if None in row else miles_between(*row) for row in places.iter_rows()]
    return pl.Series(lengths, dtype=pl.Float64)
