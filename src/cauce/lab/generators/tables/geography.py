"""Constant facts: countries, languages, genres, airports and their coordinates."""

from __future__ import annotations

from math import asin, cos, radians, sin, sqrt

from cauce.lab.generators.tables.facts import facts

# ISO code, name, weight among producing countries.
COUNTRIES = facts("countries")
LANGUAGES = facts("languages")
GENRES = facts("genres")

# Code, city, latitude, longitude, hours to UTC in summer; trips start and end at the first sixteen.
AIRPORTS = facts("airports")
ENDPOINTS = 16
# Airports of one city: there are no flights between them.
NOT_FLOWN = (("JFK", "LGA"), ("LGA", "JFK"), ("OAK", "SFO"), ("SFO", "OAK"), ("LGA", "EWR"))


def miles(one: int, other: int) -> int:
    """Whole miles between two of the airports, on a sphere.

    The inputs are fixed and none comes near a half, so that the last digits of sine and cosine do not matter.
    """
    (_, _, lat1, lon1, _), (_, _, lat2, lon2, _) = AIRPORTS[one], AIRPORTS[other]
    up, along = sin(radians(lat2 - lat1) / 2), sin(radians(lon2 - lon1) / 2)
    chord = up * up + cos(radians(lat1)) * cos(radians(lat2)) * along * along
    return round(2 * 3958.76 * asin(sqrt(chord)))
