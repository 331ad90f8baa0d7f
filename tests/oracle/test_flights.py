"""The five flights queries on rows small enough to answer by hand."""

from __future__ import annotations

from pathlib import Path

from tests.oracle.api import answer
from tests.oracle.writing import lines, write

FAR = "B||C||D||Z"


def flight(leg: str, origin: str = "A", destination: str = "Z", **cells: str) -> dict[str, str]:
    return {"legId": leg, "startingAirport": origin, "destinationAirport": destination} | cells


def flights(data: Path, *rows: dict[str, str]) -> None:
    write(data / "itineraries.csv", *rows)


def airports(data: Path, *rows: tuple[str, str, str]) -> None:
    write(
        data / "airports-codepublic.csv",
        *({"Airport Code": code, "Latitude": lat, "Longitude": lon} for code, lat, lon in rows),
    )


def test_q1_lists_the_flights_with_three_stopovers(tmp_path: Path) -> None:
    flights(
        tmp_path,
        flight("z", totalFare="102.6", segmentsArrivalAirportCode=FAR),
        flight("a", totalFare="1000", segmentsArrivalAirportCode="B||C||||D||Z", searchDate="never"),
        flight("two", totalFare="1", segmentsArrivalAirportCode="B||C||Z"),
        flight("none", totalFare="1"),
        flight("", "", "", segmentsArrivalAirportCode=FAR),
        flight("bad", totalFare="1.005", segmentsArrivalAirportCode="Z"),
    )
    assert answer("flights", tmp_path, ["q1"]) == {
        "q1": lines(
            "leg_id,origin,destination,fare,stopovers",
            "z,A,Z,102.60,B; C; D",
            "a,A,Z,1000.00,B; C; ; D",
            ",,,,B; C; D",
        ),
        "rejects": lines(
            "file,line,column,reason,raw",
            "itineraries.csv,7,totalFare,not a number with that many decimals,1.005",
        ),
    }


def test_q2_compares_with_four_times_the_geodesic(tmp_path: Path) -> None:
    # A degree of the WGS-84 equator is 6378137 m · π/180 = 111319.4908 m or 69.17072 miles; × 4: 276.68289.
    airports(
        tmp_path,
        ("A", "0", "0"),
        ("Z", "0.0", "1"),
        ("A", "0", "50"),
        ("N", "\\N", "1"),
        ("N", "0", "1"),
        ("E", "", "1"),
        ("R", "north", "1"),
        ("R", "0", "1"),
    )
    flights(
        tmp_path,
        flight("above", totalTravelDistance="276.690"),
        flight("below", totalTravelDistance="276.68"),
        flight("missing"),
        flight("unknown", "A", "Q", totalTravelDistance="9999"),
        flight("no latitude", "A", "N", totalTravelDistance="9999"),
        flight("empty latitude", "E", "A", totalTravelDistance="9999"),
        flight("second row", "A", "R", totalTravelDistance="1000"),
        flight("round", "A", "A", totalTravelDistance="1.0"),
        flight("still", "A", "A", totalTravelDistance="0"),
        flight("round unknown", "N", "N", totalTravelDistance="1"),
        flight("no origin", "", "A", totalTravelDistance="9999"),
    )
    assert answer("flights", tmp_path, ["q2"]) == {
        "q2": lines("leg_id,origin,destination,distance", "above,A,Z,276.69", "second row,A,R,1000", "round,A,A,1"),
        "rejects": lines("file,line,column,reason,raw", "airports-codepublic.csv,8,Latitude,not a number,north"),
    }


def test_q3_keeps_the_two_fastest_of_each_route(tmp_path: Path) -> None:
    def far(leg: str, duration: str, flown: str = "", searched: str = "", route: str = "AZ") -> dict[str, str]:
        return flight(
            leg,
            *route,
            travelDuration=duration,
            flightDate=flown,
            searchDate=searched,
            segmentsArrivalAirportCode=FAR if searched != "2022-01-02" else "X||C||D||Z",
        )

    flights(
        tmp_path,
        far("slow", "P1DT1M", route="BZ"),
        far("a", "PT9H", "2022-05-01", "2022-01-04"),
        far("b", "PT9H", "2022-05-01"),
        far("", "PT9H", "2022-05-01"),
        far("a", "PT9H", "", "2022-01-01"),
        far("a", "PT9H", "2022-05-01", "2022-01-03"),
        far("a", "PT540M", "2022-05-01", "2022-01-02"),
        far("near", "PT1H") | {"segmentsArrivalAirportCode": "B||C||Z"},
        far("timeless", ""),
        far("nowhere", "PT1H") | {"destinationAirport": ""},
        far("", "PT1H", route="CZ"),
        far("c", "PT1H", "soon", route="CZ"),
        far("c", "PT1H30S", route="CZ"),
    )
    assert answer("flights", tmp_path, ["q3"]) == {
        "q3": lines(
            "origin,destination,leg_id,stopovers,duration_minutes",
            "A,Z,a,X; C; D,540",
            "A,Z,a,B; C; D,540",
            "B,Z,slow,B; C; D,1441",
            "C,Z,,B; C; D,60",
        ),
        "rejects": lines(
            "file,line,column,reason,raw",
            "itineraries.csv,13,flightDate,not a date (YYYY-MM-DD),soon",
            "itineraries.csv,14,travelDuration,not a duration (P[nD][T[nH][nM]]),PT1H30S",
        ),
    }


def test_q4_averages_the_fares_above_the_general_mean(tmp_path: Path) -> None:
    flights(
        tmp_path,
        flight("", "B", "Z", totalFare="10.00"),
        flight("", "B", "Z", totalFare="10.00"),
        flight("", "B", "Z", totalFare="10.01"),
        flight("", "A", "Z", totalFare="6.00"),
        flight("", "", "Z", totalFare="3.99"),
        flight("", "A", "Z", totalFare="8"),
        flight("", "A", "Z"),
        flight("", "A", "Z", totalFare="free"),
    )
    # All fares: 48.00 over 6 flights, so the mean is 8.00 and the fare of 8 is not above it.
    assert answer("flights", tmp_path, ["q4"]) == {
        "q4": lines("origin,destination,mean_fare,max_fare", "B,Z,10.0033,10.01"),
        "rejects": lines(
            "file,line,column,reason,raw",
            "itineraries.csv,9,totalFare,not a number with that many decimals,free",
        ),
    }


def test_q4_rounds_half_to_even(tmp_path: Path) -> None:
    flights(
        tmp_path,
        *[flight("", "A", totalFare="1.00")] * 15,
        flight("", "A", totalFare="1.02"),
        *[flight("", "B", totalFare="1.00")] * 15,
        flight("", "B", totalFare="1.06"),
        flight("", "", totalFare="0"),
    )
    # 16.02 / 16 = 1.00125 and 16.06 / 16 = 1.00375, all above the mean of 32.08 / 33.
    assert answer("flights", tmp_path, ["q4"])["q4"] == lines(
        "origin,destination,mean_fare,max_fare", "A,Z,1.0012,1.02", "B,Z,1.0038,1.06"
    )


def test_q5_shows_every_most_frequent_fare_of_an_origin(tmp_path: Path) -> None:
    flights(
        tmp_path,
        *(flight("", "A", baseFare=fare) for fare in ("100", "9.5", "100.00", "9.50", "7", "", "")),
        flight("", "B", baseFare="0.07"),
        flight("", "", baseFare="1"),
        flight("", "C"),
        flight("", "B", baseFare="x", totalFare="x"),
    )
    assert answer("flights", tmp_path, ["q5"]) == {
        "q5": lines("origin,fare,flights", "A,9.50,2", "A,100.00,2", "B,0.07,1"),
        "rejects": lines(
            "file,line,column,reason,raw",
            "itineraries.csv,12,baseFare,not a number with that many decimals,x",
        ),
    }
