"""Flights: edge cases of the query rules on small inputs."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from tests.e2e.comparing import compare
from tests.e2e.rows import FAR, airport, append, empty_folder, flight, flights_folder, rewrite, slow_flight
from tests.oracle.writing import lines, write

pytestmark = pytest.mark.slow

Q3 = "origin,destination,leg_id,stopovers,duration_minutes"
PLACES = [airport("A", "0", "0"), airport("Z", "0", "1")]
"""One degree of the equator apart: 69.17 miles, of which four times are 276.68."""


def fare(amount: str, origin: str = "A", destination: str = "Z", base: str = "") -> dict[str, str]:
    return flight("l", origin, destination, totalFare=amount, baseFare=base)


def far(miles: str, origin: str = "A", destination: str = "Z") -> dict[str, str]:
    return flight("l", origin, destination, totalTravelDistance=miles)


def test_empty_tables_give_headers(tmp_path: Path) -> None:
    empty_folder("flights", tmp_path)
    assert compare("flights", tmp_path) == {
        "q1": lines("leg_id,origin,destination,fare,stopovers"),
        "q2": lines("leg_id,origin,destination,distance"),
        "q3": lines(Q3),
        "q4": lines("origin,destination,mean_fare,max_fare"),
        "q5": lines("origin,fare,flights"),
    }


def test_one_row_is_not_above_its_own_mean(tmp_path: Path) -> None:
    flights_folder(tmp_path, [slow_flight("l", "PT9H", totalFare="5", baseFare="4")])
    found = compare("flights", tmp_path)
    assert found["q1"] == lines("leg_id,origin,destination,fare,stopovers", "l,A,Z,5.00,B; C; D")
    assert found["q4"] == lines("origin,destination,mean_fare,max_fare")
    assert found["q5"] == lines("origin,fare,flights", "A,4.00,1")


def test_all_rows_rejected(tmp_path: Path) -> None:
    empty_folder("flights", tmp_path)
    append(tmp_path / "itineraries.csv", b"a,b\n" * 4)
    append(tmp_path / "airports-codepublic.csv", b"a;b\n" * 4)
    found = compare("flights", tmp_path)
    assert found["rejects"].count(b"\n") == 9
    assert found["q2"] == lines("leg_id,origin,destination,distance")


def test_stopovers_are_all_arrivals_but_the_last(tmp_path: Path) -> None:
    taken = [FAR, "B||C||D||E||Z", "||||||", "B|||C||D||Z", "B|| ||D||Z", "é||\U0001f600||,||Z"]
    others = ["Z", "B||Z", "B||C||Z", "", "B|C|D|Z", "|||||", "B| |C| |D| |Z"]
    flights_folder(tmp_path, [slow_flight(each, "PT9H", arrivals=each) for each in taken + others])
    found = compare("flights", tmp_path, ["q1", "q3"])
    assert found["q1"].count(b"\n") == len(taken) + 1


def test_q1_shows_missing_values_as_empty(tmp_path: Path) -> None:
    flights_folder(tmp_path, [flight("", "", "", segmentsArrivalAirportCode=FAR)])
    assert compare("flights", tmp_path)["q1"] == lines("leg_id,origin,destination,fare,stopovers", ",,,,B; C; D")


@pytest.mark.parametrize(
    ("column", "out_of"),
    [
        ("searchDate", "3"),
        ("flightDate", "3"),
        ("travelDuration", "3"),
        ("baseFare", "5"),
        ("totalFare", "14"),
        ("totalTravelDistance", "2"),
    ],
)
def test_unreadable_cell_excludes_its_row_from_queries_that_use_it(tmp_path: Path, column: str, out_of: str) -> None:
    dates = {"searchDate": "2022-04-16", "flightDate": "2022-04-17"}
    good = slow_flight("l", "PT9H", totalFare="5", baseFare="4", totalTravelDistance="9999") | dates
    flights_folder(tmp_path, [good | {column: "x"}, fare("1", "", "")], PLACES)
    found = compare("flights", tmp_path)
    assert "".join(query[1] for query in found if found[query].count(b"\n") == 1) == out_of
    assert found["rejects"].count(b"\n") == 2


@pytest.mark.parametrize("column", ["startingAirport", "destinationAirport", "legId", "totalFare", "travelDuration"])
def test_null_cell_is_not_rejected(tmp_path: Path, column: str) -> None:
    good = slow_flight("l", "PT9H", totalFare="5", baseFare="4", totalTravelDistance="9999")
    flights_folder(tmp_path, [good | {column: ""}, fare("1", "B", "C")], PLACES)
    assert "rejects" not in compare("flights", tmp_path)


def test_q2_compares_with_four_times_the_geodesic(tmp_path: Path) -> None:
    taken, others = ["276.683", "276.6829", "1000.50", "99999999999999999"], ["276.682", "276", "0", "-300", ""]
    flights_folder(tmp_path, [far(miles) for miles in taken + others], PLACES)
    assert compare("flights", tmp_path, ["q2"])["q2"] == lines(
        "leg_id,origin,destination,distance",
        *(f"l,A,Z,{miles}" for miles in ["276.683", "276.6829", "1000.5", taken[3]]),
    )


def test_q2_needs_both_airports_with_coordinates(tmp_path: Path) -> None:
    places = [
        *PLACES,
        airport("none", "", ""),
        airport("half", "1", "\\N"),
        airport("null", "\\N", "\\N"),
        airport("bad", "north", "1"),
        airport("", "5", "5"),
    ]
    others = ["none", "half", "null", "bad", "unknown", "", "a"]
    flights_folder(
        tmp_path,
        [far("99999", "A", code) for code in others]
        + [far("99999", code, "A") for code in others]
        + [far("99999", code, code) for code in others]
        + [far("99999", "Z", "A")],
        places,
    )
    found = compare("flights", tmp_path, ["q2"])
    assert found["q2"] == lines("leg_id,origin,destination,distance", "l,Z,A,99999")
    assert found["rejects"] == lines(
        "file,line,column,reason,raw", "airports-codepublic.csv,7,Latitude,not a number,north"
    )


def test_q2_includes_flights_back_to_their_origin(tmp_path: Path) -> None:
    places = [*PLACES, airport("pole", "90", "17"), airport("beyond", "95", "10")]
    codes = ["A", "pole", "beyond"]
    flights_folder(
        tmp_path, [far(miles, code, code) for code in codes for miles in ("0.000000000000000001", "0")], places
    )
    assert compare("flights", tmp_path, ["q2"])["q2"] == lines(
        "leg_id,origin,destination,distance", *(f"l,{code},{code},0.000000000000000001" for code in codes)
    )


def test_q2_uses_the_first_row_of_an_airport_even_without_coordinates(tmp_path: Path) -> None:
    places = [
        airport("A", "0", "0"),
        airport("A", "0", "0.999"),
        airport("Z", "0", "1"),
        airport("lost", "", ""),
        airport("lost", "0", "1"),
        airport("later", "x", "1"),
        airport("later", "0", "1"),
    ]
    flights_folder(tmp_path, [far("200"), far("300"), far("300", "A", "lost"), far("300", "A", "later")], places)
    assert compare("flights", tmp_path, ["q2"])["q2"] == lines(
        "leg_id,origin,destination,distance", "l,A,Z,300", "l,A,later,300"
    )


def test_q2_handles_poles_antipodes_and_the_date_line(tmp_path: Path) -> None:
    places = [
        airport("N", "90", "0"),
        airport("S", "-90", "0"),
        airport("E", "0", "179.9"),
        airport("W", "0", "-179.9"),
        airport("O", "0.0", "0.0"),
        airport("X", "0.3", "-179.7"),
    ]
    codes = "NSEWOX"
    flights_folder(tmp_path, [far(m, a, b) for a in codes for b in codes for m in ("50", "20000", "60000")], places)
    compare("flights", tmp_path, ["q2"])


@pytest.mark.parametrize(
    ("duration", "minutes"),
    [("P1DT6H58M", 1858), ("PT9H9M", 549), ("PT9H", 540), ("PT9M", 9), ("P2D", 2880), ("PT0M", 0), ("PT90M", 90)],
)
def test_valid_durations_are_read(tmp_path: Path, duration: str, minutes: int) -> None:
    flights_folder(tmp_path, [slow_flight("l", duration)])
    assert compare("flights", tmp_path, ["q3"])["q3"] == lines(Q3, f"A,Z,l,B; C; D,{minutes}")


def test_invalid_durations_are_rejected(tmp_path: Path) -> None:
    bad = ["P", "PT", "T9H", "9H", "PT9", "PT9M9H", "PT1.5H", "pt9h", "PT9H ", "P1W", "PT9S", "PT-9H", "P1DT", "PT٩H"]
    flights_folder(tmp_path, [slow_flight("l", duration) for duration in bad])
    found = compare("flights", tmp_path, ["q3"])
    assert found["q3"].count(b"\n") + found["rejects"].count(b"\n") == len(bad) + 2


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_q3_breaks_a_tie_by_leg(tmp_path: Path, order: tuple[int, ...]) -> None:
    flights = [slow_flight("l\U0001f600", "PT9H"), slow_flight("l\uffee", "PT540M"), slow_flight("L", "PT9H")]
    flights_folder(tmp_path, [flights[place] for place in order])
    assert compare("flights", tmp_path, ["q3"])["q3"] == lines(Q3, "A,Z,L,B; C; D,540", "A,Z,l\uffee,B; C; D,540")


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("column", ["day", "seen"])
def test_q3_breaks_a_tie_by_date_with_nulls_last(tmp_path: Path, column: str, order: tuple[int, ...]) -> None:
    dates = ["2022-05-01", "", "2022-04-30"]
    flights = [slow_flight("l", "PT9H", **{column: date}, arrivals=f"{date}||C||D||Z") for date in dates]
    flights_folder(tmp_path, [flights[place] for place in order])
    assert compare("flights", tmp_path, ["q3"])["q3"] == lines(
        Q3, "A,Z,l,2022-04-30; C; D,540", "A,Z,l,2022-05-01; C; D,540"
    )


def test_q3_breaks_the_last_tie_by_input_order(tmp_path: Path) -> None:
    flights = [slow_flight("l", "PT9H", "2022-05-01", "2022-04-30", arrivals=f"{place}||C||D||Z") for place in "zyxw"]
    flights_folder(tmp_path, flights)
    assert compare("flights", tmp_path, ["q3"])["q3"] == lines(Q3, "A,Z,l,z; C; D,540", "A,Z,l,y; C; D,540")


def test_q3_distinguishes_directions_and_orders_by_code_point(tmp_path: Path) -> None:
    codes = ["a", "A", "\uffee", "\U0001f600", "é"]
    flights_folder(
        tmp_path,
        [
            slow_flight(f"{minutes}", f"PT{minutes}M") | {"startingAirport": a, "destinationAirport": b}
            for a in codes
            for b in codes
            for minutes in (30, 10, 20)
        ],
    )
    found = compare("flights", tmp_path, ["q3"])["q3"].decode().splitlines()[1:]
    assert found == [f"{a},{b},{m},B; C; D,{m}" for a in sorted(codes) for b in sorted(codes) for m in (10, 20)]


def test_q4_excludes_fares_equal_to_the_general_mean(tmp_path: Path) -> None:
    flights_folder(tmp_path, [fare("100.00"), fare("99.99", "B"), fare("100.01", "C"), fare("")])
    assert compare("flights", tmp_path, ["q4"])["q4"] == lines(
        "origin,destination,mean_fare,max_fare", "C,Z,100.0100,100.01"
    )


def test_q4_compares_with_the_exact_mean(tmp_path: Path) -> None:
    # The mean is 33333333333333.34 less a third of a cent: above it by less than floats of this size show.
    flights_folder(tmp_path, [fare("33333333333333.34"), fare("33333333333333.34"), fare("33333333333333.33")])
    assert compare("flights", tmp_path, ["q4"])["q4"] == lines(
        "origin,destination,mean_fare,max_fare", "A,Z,33333333333333.3400,33333333333333.34"
    )


def test_q4_rounds_half_to_even_at_the_fourth_decimal(tmp_path: Path) -> None:
    # Sums of 1 and 3 cents over 800 flights end in 00125 and 00375.
    flights_folder(
        tmp_path,
        [fare("10.00", "A")] * 799
        + [fare("10.01", "A")]
        + [fare("10.00", "B")] * 799
        + [fare("10.03", "B")]
        + [fare("0.00", "C")],
    )
    assert compare("flights", tmp_path, ["q4"])["q4"] == lines(
        "origin,destination,mean_fare,max_fare", "A,Z,10.0000,10.01", "B,Z,10.0000,10.03"
    )
    flights_folder(
        tmp_path, [*[fare("10.00")] * 7, fare("10.01"), fare("-1", "B"), *[fare("20.00", "C")] * 15, fare("20.03", "C")]
    )
    compare("flights", tmp_path, ["q4"])


def test_q4_keeps_all_digits_of_a_large_fare(tmp_path: Path) -> None:
    flights_folder(tmp_path, [fare("92233720368547758.07"), fare("0")])
    assert compare("flights", tmp_path, ["q4"])["q4"] == lines(
        "origin,destination,mean_fare,max_fare", "A,Z,92233720368547758.0700,92233720368547758.07"
    )


def test_q4_counts_fares_of_flights_without_a_route_in_the_general_mean(tmp_path: Path) -> None:
    flights_folder(tmp_path, [fare("10"), fare("100", ""), fare("12", "B"), fare("-300", "B", "")])
    compare("flights", tmp_path, ["q4"])
    flights_folder(tmp_path, [fare("10"), fare("100", "", ""), fare("12", "B")])
    assert compare("flights", tmp_path, ["q4"])["q4"] == lines("origin,destination,mean_fare,max_fare")


def test_fares_have_at_most_two_decimals(tmp_path: Path) -> None:
    good = ["1", "1.", ".5", "1.5", "1.50", "1.500", "+1.5", "-0", "007"]
    bad = ["1.005", "1e2", "1,5", "$1", " 1", "٣", ".", "-", "1.2.3", "99999999999999999999"]
    flights_folder(tmp_path, [fare(each, f"o{place}", base=each) for place, each in enumerate(good + bad)])
    found = compare("flights", tmp_path, ["q4", "q5"])
    assert found["q5"].count(b"\n") == len(good) + 1
    assert found["rejects"].count(b"\n") == 2 * len(bad) + 1


def test_q5_returns_all_tied_fares(tmp_path: Path) -> None:
    bases = ["200", "9.50", "200.00", "9.5", "30", "-1", "-1.0", ""]
    flights_folder(
        tmp_path,
        [fare("", base=base) for base in bases]
        + [fare("", "\U0001f600", base="1"), fare("", "\uffee", base="1"), fare("", "", base="1")],
    )
    assert compare("flights", tmp_path, ["q5"])["q5"] == lines(
        "origin,fare,flights", "A,-1.00,2", "A,9.50,2", "A,200.00,2", "\uffee,1.00,1", "\U0001f600,1.00,1"
    )


def test_extract_replaces_a_missing_file(tmp_path: Path) -> None:
    flights_folder(tmp_path, [fare("1", base="1")])
    (tmp_path / "itineraries.csv").rename(tmp_path / "itineraries_random_2M.csv")
    assert b"A,1.00,1" in compare("flights", tmp_path)["q5"]
    write(tmp_path / "itineraries.csv", fare("2", base="2"))
    assert b"A,2.00,1" in compare("flights", tmp_path)["q5"]


def test_airports_with_byte_order_mark_and_crlf(tmp_path: Path) -> None:
    flights_folder(tmp_path, [far("300")], [*PLACES, airport("Q", "\\N", "0"), airport("R", "x", "0")])
    path = tmp_path / "airports-codepublic.csv"
    plain = compare("flights", tmp_path, ["q2"])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert compare("flights", tmp_path, ["q2"]) == plain
    assert plain["q2"].count(b"\n") == 2


def test_backslash_n_is_null_for_airports_only(tmp_path: Path) -> None:
    flights_folder(tmp_path, [far("300", "\\N", "Z"), fare("1", "\\N", base="1")], [*PLACES, airport("\\N", "0", "0")])
    found = compare("flights", tmp_path)
    assert found["q2"] == lines("leg_id,origin,destination,distance")
    assert found["q5"] == lines("origin,fare,flights", "\\N,1.00,1")


def test_a_quoted_cell_with_newlines_quotes_and_separators(tmp_path: Path) -> None:
    odd = 'a;b,c\n"d"\r\n'
    flights_folder(
        tmp_path,
        [slow_flight("l", "PT9H"), far("300") | {"legId": odd}],
        [airport("A", "0", "0"), airport("Z", "0", "1")],
    )
    assert compare("flights", tmp_path)["q2"].count(b'""d""') == 1


@pytest.mark.parametrize("fault", [b'"x"y;;;;;;;;;;\n', b'"never closed;\n', b"too;few\n", b"\xff;;;;;;;;;;\n"])
def test_malformed_airport_rejects_one_line(tmp_path: Path, fault: bytes) -> None:
    flights_folder(tmp_path, [far("300")], PLACES)
    rewrite(tmp_path / "airports-codepublic.csv", b"\nZ;", b"\n" + fault + b"Z;")
    assert compare("flights", tmp_path, ["q2"])["q2"].count(b"\n") == 2
