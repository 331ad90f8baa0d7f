"""The geodesic distance on the WGS-84 ellipsoid, which no peer has without an extension."""

from __future__ import annotations

from geographiclib.geodesic import Geodesic

METRES_PER_MILE = 1609.344


def miles(latitude1: float, longitude1: float, latitude2: float, longitude2: float) -> float:
    found: float = Geodesic.WGS84.Inverse(latitude1, longitude1, latitude2, longitude2, Geodesic.DISTANCE)["s12"]
    return found / METRES_PER_MILE
