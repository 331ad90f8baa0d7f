"""Columns that the peers' queries read: their own names for columns, and the headers in the files."""

from __future__ import annotations

MOVIES = {
    "id": "id",
    "title": "title",
    "genres": "genres",
    "date": "release_date",
    "overview": "overview",
    "countries": "production_countries",
    "languages": "spoken_languages",
    "language": "original_language",
    "budget": "budget",
    "revenue": "revenue",
}

FLIGHTS = {
    "leg_id": ("legId", ("q1", "q2", "q3")),
    "search_date": ("searchDate", ("q3",)),
    "flight_date": ("flightDate", ("q3",)),
    "origin": ("startingAirport", ("q1", "q2", "q3", "q4", "q5")),
    "destination": ("destinationAirport", ("q1", "q2", "q3", "q4")),
    "duration": ("travelDuration", ("q3",)),
    "base_fare": ("baseFare", ("q5",)),
    "fare": ("totalFare", ("q1", "q4")),
    "distance": ("totalTravelDistance", ("q2",)),
    "arrivals": ("segmentsArrivalAirportCode", ("q1", "q3")),
}
"""With the queries that each is read for."""
