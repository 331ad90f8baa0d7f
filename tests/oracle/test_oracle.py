"""The oracle as a whole: which files it reads, what it rejects, and how it prints."""

from __future__ import annotations

import gzip
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from tests.oracle.api import DATASETS, answer
from tests.oracle.render import Row, cents, csv_bytes, fixed, plain
from tests.oracle.sentiment import textblob, vader
from tests.oracle.writing import lines, write


def base_fare(data: Path, name: str, fare: str) -> None:
    write(data / "itineraries.csv", {"startingAirport": "A", "baseFare": fare})
    (data / "itineraries.csv").rename(data / name)


def q5_fare(data: Path) -> str:
    return answer("flights", data, ["q5"])["q5"].decode().split(",")[-2]


def test_there_are_nineteen_queries() -> None:
    assert sum(len(dataset.queries) for dataset in DATASETS.values()) == 19


def test_replacement_file_is_read_only_if_the_main_file_is_missing(tmp_path: Path) -> None:
    base_fare(tmp_path, "itineraries_random_2M.csv", "2.00")
    assert q5_fare(tmp_path) == "2.00"
    base_fare(tmp_path, "itineraries.csv", "1.00")
    assert q5_fare(tmp_path) == "1.00"


def test_a_compressed_file_is_read_under_its_own_name(tmp_path: Path) -> None:
    base_fare(tmp_path, "plain", "x")
    (tmp_path / "itineraries.csv.gz").write_bytes(gzip.compress((tmp_path / "plain").read_bytes()))
    assert b"\nitineraries.csv.gz,2,baseFare," in answer("flights", tmp_path, ["q5"])["rejects"]


def test_file_in_two_places_is_rejected(tmp_path: Path) -> None:
    write(tmp_path / "transactions_202401.csv")
    write(tmp_path / "transactions/transactions_202401.csv")
    with pytest.raises(ValueError, match="twice"):
        answer("coffee", tmp_path, ["q1"])


def test_a_missing_table_is_an_error_only_for_the_queries_that_need_it(tmp_path: Path) -> None:
    write(tmp_path / "movies_metadata.csv")
    assert set(answer("movies", tmp_path, ["q1", "q2", "q5"])) == {"q1", "q2", "q5"}
    with pytest.raises(FileNotFoundError):
        answer("movies", tmp_path, ["q4"])


def test_a_missing_column_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "itineraries.csv").write_text("legId,baseFare\n")
    with pytest.raises(ValueError, match="startingAirport"):
        answer("flights", tmp_path, ["q5"])


def test_every_query_is_answered_by_default(tmp_path: Path) -> None:
    write(tmp_path / "books_data.csv")
    write(tmp_path / "Books_rating.csv")
    assert list(answer("books", tmp_path)) == ["q1", "q2", "q3", "q4", "q5"]


def test_rejects_are_ordered_and_unique(tmp_path: Path) -> None:
    header = "Title,authors,publisher,publishedDate,categories\n"
    (tmp_path / "books_data.csv").write_text(header + "T,x,,1995,y\n" * 9 + 'T,"x"x\n' + "T,x\ré,,1995,[]\n,\n")
    (tmp_path / "Books_rating.csv").write_text("Title,review/score,review/text\nT,high,\n")
    found = answer("books", tmp_path)
    list_reason = "not a list of texts"
    expected = ["Books_rating.csv,2,review/score,not a number,high"]
    for line in range(2, 11):
        expected.append(f"books_data.csv,{line},authors,{list_reason},x")
        expected.append(f"books_data.csv,{line},categories,{list_reason},y")
    expected.append('books_data.csv,11,,broken quoting,"T,""x""x"')
    expected.append(f'books_data.csv,12,authors,{list_reason},"x\ré"')
    expected.append('books_data.csv,13,,"expected 5 cells, found 2",","')
    assert found["rejects"] == lines("file,line,column,reason,raw", *expected)


def test_only_cells_used_by_chosen_queries_are_rejected(tmp_path: Path) -> None:
    header = "Title,authors,publisher,publishedDate,categories\n"
    (tmp_path / "books_data.csv").write_text(header + "T,x,,1995,y\n")
    assert answer("books", tmp_path, ["q2"])["rejects"] == lines(
        "file,line,column,reason,raw", "books_data.csv,2,authors,not a list of texts,x"
    )


def test_rejected_cell_is_truncated_to_500_characters(tmp_path: Path) -> None:
    write(tmp_path / "itineraries.csv", {"startingAirport": "A", "baseFare": "é" * 501})
    assert answer("flights", tmp_path, ["q5"])["rejects"].decode().endswith("," + "é" * 500 + "\n")


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [
        (Decimal("0.125"), 2, "0.12"),
        (Decimal("0.135"), 2, "0.14"),
        (Decimal("-0.004"), 2, "0.00"),
        (Decimal("-1.5"), 2, "-1.50"),
        (Decimal("99999999999999999999.995"), 2, "100000000000000000000.00"),
        (Fraction(2, 3), 4, "0.6667"),
        (0, 2, "0.00"),
    ],
)
def test_decimals_are_rounded_half_even(value: Decimal | Fraction | int, places: int, text: str) -> None:
    assert fixed(value, places) == text


def test_cents_print_with_two_decimals() -> None:
    assert [cents(7), cents(-107), cents(102360)] == ["0.07", "-1.07", "1023.60"]


@pytest.mark.parametrize(
    ("value", "text"),
    [("1200", "1200"), ("12.50", "12.5"), ("100.000", "100"), ("0E-18", "0"), ("0.000000000000000001",) * 2],
)
def test_decimals_have_no_trailing_zeros_and_no_exponent(value: str, text: str) -> None:
    assert plain(Decimal(value)) == text


def test_csv_quotes_only_where_rfc_4180_requires_it() -> None:
    row: Row = ("a b", 'q"', "c,d", "e\nf", "g\rh", None, [], ["x", "y,z"], 0.1)
    assert csv_bytes(["é"], [row]) == 'é\na b,"q""","c,d","e\nf","g\rh",,,"x; y,z",0.1\n'.encode()


def test_scores_are_integers_in_ten_thousandths() -> None:
    assert [vader("good"), vader("bad"), vader(" ")] == [4404, -5423, 0]
    assert [textblob("good"), textblob(" ")] == [7000, 0]
