"""Numbers at the limits of 64 bits and 38 digits: exact answers, and no query affects the others."""

from __future__ import annotations

import json
import subprocess
from decimal import Decimal
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from tests.e2e.comparing import Way, compare, run, small
from tests.e2e.rows import coffee_folder, flight, flights_folder, item, paid, slow_flight, sold, store, user
from tests.oracle.writing import lines
from tests.terminal.terminal import cauce

pytestmark = pytest.mark.slow

MOST = 2**63 - 1
MOST_FARE = "92233720368547758.07"
Q2 = "month,ranking,item_name,quantity,profit"
Q4 = "origin,destination,mean_fare,max_fare"


def large_flights(data: Path) -> None:
    fares = [("A", MOST_FARE), ("A", MOST_FARE), ("B", "0.01"), ("C", f"-{MOST_FARE}"), ("A", "0.01")]
    flights_folder(
        data,
        [
            slow_flight("l", "PT9H", startingAirport=origin, totalFare=amount, baseFare=amount)
            for origin, amount in fares
        ],
    )


def large_coffee(data: Path) -> None:
    coffee_folder(
        data,
        [paid("t", "99999999999999999.99", user="7")] * 3,
        [sold("3", str(MOST), "99999999999999999"), sold("3", "1", "0.01"), sold("4", str(-MOST), "5")] * 2,
        [store("1", "Centre")],
        [item("3", "Latte"), item("4", "Mocha")],
        [user("7", "2000-02-29")],
    )


def test_q4_of_flights_with_the_largest_fare(tmp_path: Path) -> None:
    flights_folder(tmp_path, [flight("l", totalFare=MOST_FARE), flight("l", totalFare="0.01")])
    assert compare("flights", tmp_path)["q4"] == lines(Q4, f"A,Z,{MOST_FARE}00,{MOST_FARE}")


def test_q4_of_flights_does_not_wrap_around(tmp_path: Path) -> None:
    fares = ["50000000000000000.00"] * 2 + ["-50000000000000000.00"] * 2
    flights_folder(tmp_path, [flight("l", totalFare=fare) for fare in fares])
    expected = lines(Q4, "A,Z,50000000000000000.0000,50000000000000000.00")
    assert compare("flights", tmp_path)["q4"] == expected


def test_all_queries_of_flights_with_large_fares(tmp_path: Path) -> None:
    large_flights(tmp_path)
    assert "rejects" not in compare("flights", tmp_path)


def test_q2_of_coffee_with_the_largest_quantity(tmp_path: Path) -> None:
    items_sold = [sold("3", str(MOST), "2"), sold("3", "1", "0.5")]
    coffee_folder(tmp_path, [], items_sold, [], [item("3", "Latte")])
    rows = (f"2024-01,{ranking},Latte,{MOST + 1},2.50" for ranking in ("quantity", "profit"))
    assert compare("coffee", tmp_path)["q2"] == lines(Q2, *rows)


def test_all_queries_of_coffee_with_large_numbers(tmp_path: Path) -> None:
    large_coffee(tmp_path)
    assert "rejects" not in compare("coffee", tmp_path)


@pytest.mark.parametrize("partitions", [1, 2, 5])
def test_sum_of_more_than_38_digits_is_null(tmp_path: Path, partitions: int) -> None:
    """Of 1001 payments of 10**17 less one, a total of 21 digits before the point and 18 behind it."""
    coffee_folder(tmp_path, [paid("t", "9" * 17)] * 1001 + [paid("u", "5", store="2")], [], [store("1", "Centre")])
    for way in (Way(partitions=partitions), small(tmp_path)):
        found = run("coffee", tmp_path, way=way)
        assert found["q3"] == lines("semester,store_name,tpv", "2024-H1,2,5.00", "2024-H1,Centre,")
        assert found["q1"].count(b"\n") == 1002


@pytest.mark.parametrize("dataset", ["flights", "coffee"])
def test_workers_and_partitions_change_no_byte(dataset: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    {"flights": large_flights, "coffee": large_coffee}[dataset](data)
    expected = compare(dataset, data, ways=[])
    for partitions in ("1", "3"):
        out = tmp_path / partitions
        split = ["--workers", "2", "--partitions", partitions, "--part-bytes", "128"]
        ended = subprocess.run(
            cauce("run", dataset, "--data", str(data), "--out", str(out), *split),
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        assert {path.stem: path.read_bytes() for path in out.glob("*.csv")} == expected


def test_large_sums_in_the_other_formats(tmp_path: Path) -> None:
    large_coffee(tmp_path)
    expected = 2 * (MOST + 1)
    rows = json.loads(run("coffee", tmp_path, ["q2"], form="json")["q2"], parse_float=Decimal)
    assert [row["quantity"] for row in rows] == [expected, expected]
    parquet = pl.read_parquet(run("coffee", tmp_path, ["q2"], form="parquet")["q2"])
    assert parquet["quantity"].to_list() == [expected, expected]
    assert parquet.schema["quantity"] == pl.Decimal(38, 0)
    arrow = pa.ipc.open_file(run("coffee", tmp_path, ["q2"], form="arrow")["q2"]).read_all()
    assert arrow.column("quantity").to_pylist() == [expected, expected]
    assert arrow.schema.field("quantity").type == pa.decimal128(38, 0)
