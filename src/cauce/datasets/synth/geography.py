"""Facts that the generators need as they are: countries, languages, genres, airports and where they lie."""

from __future__ import annotations

from math import asin, cos, radians, sin, sqrt

# ISO code, name, weight among producing countries.
COUNTRIES = (
    ("US", "United States of America", 480), ("GB", "United Kingdom", 85), ("FR", "France", 82),
    ("DE", "Germany", 46), ("IT", "Italy", 45), ("CA", "Canada", 37), ("JP", "Japan", 35),
    ("ES", "Spain", 20), ("RU", "Russia", 19), ("IN", "India", 18), ("HK", "Hong Kong", 12),
    ("SE", "Sweden", 12), ("AU", "Australia", 12), ("KR", "South Korea", 10), ("BE", "Belgium", 9),
    ("DK", "Denmark", 8), ("FI", "Finland", 8), ("MX", "Mexico", 7), ("BR", "Brazil", 6),
    ("AR", "Argentina", 3), ("PL", "Poland", 5), ("NL", "Netherlands", 5), ("CI", "Cote D'Ivoire", 1),
    ("LA", "Lao People's Democratic Republic", 1),
)  # fmt: skip
LANGUAGES = (
    ("en", "English", 710), ("fr", "Français", 54), ("it", "Italiano", 34), ("ja", "日本語", 30),
    ("de", "Deutsch", 24), ("es", "Español", 22), ("ru", "Pусский", 18), ("hi", "हिन्दी", 11),
    ("ko", "한국어/조선말", 10), ("sv", "svenska", 9), ("pt", "Português", 7), ("xx", "No Language", 1),
)  # fmt: skip
GENRES = (
    (28, "Action"), (12, "Adventure"), (16, "Animation"), (35, "Comedy"), (80, "Crime"), (99, "Documentary"),
    (18, "Drama"), (10751, "Family"), (14, "Fantasy"), (36, "History"), (27, "Horror"), (10402, "Music"),
    (9648, "Mystery"), (10749, "Romance"), (878, "Science Fiction"), (10770, "TV Movie"), (53, "Thriller"),
)  # fmt: skip

# Code, city, latitude, longitude, hours to UTC in summer; the first sixteen are where trips begin and end.
AIRPORTS = (
    ("ATL", "Atlanta", 33.636719, -84.428067, -4), ("BOS", "Boston", 42.364347, -71.005181, -4),
    ("CLT", "Charlotte", 35.214, -80.943139, -4), ("DEN", "Denver", 39.861656, -104.673178, -6),
    ("DFW", "Dallas", 32.896828, -97.037997, -5), ("DTW", "Detroit", 42.212444, -83.353389, -4),
    ("EWR", "Newark", 40.6925, -74.168667, -4), ("IAD", "Washington", 38.944533, -77.455811, -4),
    ("JFK", "New York", 40.639751, -73.778925, -4), ("LAX", "Los Angeles", 33.942536, -118.408075, -7),
    ("LGA", "New York", 40.777245, -73.872608, -4), ("MIA", "Miami", 25.79325, -80.290556, -4),
    ("OAK", "Oakland", 37.721278, -122.220722, -7), ("ORD", "Chicago", 41.978603, -87.904842, -5),
    ("PHL", "Philadelphia", 39.871944, -75.241139, -4), ("SFO", "San Francisco", 37.618972, -122.374889, -7),
    ("SLC", "Salt Lake City", 40.788389, -111.977772, -6), ("MSP", "Minneapolis", 44.881956, -93.221767, -5),
    ("PHX", "Phoenix", 33.434278, -112.011583, -7), ("IAH", "Houston", 29.984433, -95.341442, -5),
    ("LAS", "Las Vegas", 36.080056, -115.15225, -7), ("SEA", "Seattle", 47.449, -122.309306, -7),
    ("BNA", "Nashville", 36.124472, -86.678194, -5), ("AUS", "Austin", 30.194528, -97.669889, -5),
    ("RDU", "Raleigh", 35.877639, -78.787472, -4), ("MCO", "Orlando", 28.429394, -81.308994, -4),
)  # fmt: skip
ENDPOINTS = 16
# Airports of one city: no one flies between them.
NOT_FLOWN = (("JFK", "LGA"), ("LGA", "JFK"), ("OAK", "SFO"), ("SFO", "OAK"), ("LGA", "EWR"))


def miles(one: int, other: int) -> int:
    """Whole miles between two of the airports, on a sphere.

    The inputs are fixed and none comes near a half, so that the last digits of sine and cosine do not matter.
    """
    (_, _, lat1, lon1, _), (_, _, lat2, lon2, _) = AIRPORTS[one], AIRPORTS[other]
    up, along = sin(radians(lat2 - lat1) / 2), sin(radians(lon2 - lon1) / 2)
    chord = up * up + cos(radians(lat1)) * cos(radians(lat2)) * along * along
    return round(2 * 3958.76 * asin(sqrt(chord)))
