"""Movies: edge cases of the query rules on small inputs."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.e2e.comparing import compare
from tests.e2e.rows import (
    USA,
    american,
    append,
    argentine,
    credit,
    empty_folder,
    movie,
    movies_folder,
    names,
    rating,
    rewrite,
)
from tests.oracle.writing import lines, write

pytestmark = pytest.mark.slow

BOTH = ("Argentina", "Spain")
GOOD, BAD = "A good one.", "A bad one."


def test_empty_tables_give_headers(tmp_path: Path) -> None:
    empty_folder("movies", tmp_path)
    assert compare("movies", tmp_path) == {
        "q1": lines("title,genres"),
        "q2": lines("country,budget"),
        "q3": lines("which,id,title,rating"),
        "q4": lines("actor,appearances"),
        "q5": lines("sentiment,ratio,movies"),
    }


def test_one_row_of_each_table(tmp_path: Path) -> None:
    movies_folder(tmp_path, [argentine("1", budget="7")], [rating("1", "3.5")], [credit("1", "Sofía")])
    found = compare("movies", tmp_path)
    assert found["q2"] == lines("country,budget", "Argentina,7")
    assert found["q3"] == lines("which,id,title,rating", "best,1,T,3.5", "worst,1,T,3.5")
    assert found["q4"] == lines("actor,appearances", "Sofía,1")


def test_all_rows_rejected(tmp_path: Path) -> None:
    empty_folder("movies", tmp_path)
    for path in tmp_path.iterdir():
        append(path, b"1\n" * 3)
    found = compare("movies", tmp_path)
    assert found["rejects"].count(b"\n") == 10
    assert found["q3"] == lines("which,id,title,rating")


def test_known_broken_rows_are_rejected(tmp_path: Path) -> None:
    empty_folder("movies", tmp_path)
    path = tmp_path / "movies_metadata.csv"
    # As in the real file: a line break in the overview cut the record in two, and the second half has the date
    # under `id`, an image path under `budget` and the rating's number under a list.
    whole = movie("82663", "Midnight Man", USA, budget="100", revenue="200", overview=GOOD)
    half = movie("1997-08-20", "1", budget="/ff9qCepilowshEtG2GYWwzt2bs4.jpg", genres="[{'name': 'Carousel'}]")
    other = movie("2012-09-29", "12", production_countries="6.0", budget="/zV8bHuSL6WXoD6FWogP9j4x80bL.jpg")
    write(
        path,
        whole,
        half,
        other,
        movie("2014-01-01", "22", genres="0.065736", budget="/zaSf5OG7V8X8gqFvly88zDdRm46.jpg"),
    )
    append(path, b" - Written by \xc3\x98rn\xc3\xa5s,0.065736,/ff9qCepilowshEtG2GYWwzt2bs4.jpg\n")
    found = compare("movies", tmp_path)
    assert found["q2"] == lines("country,budget", f"{USA},100")
    assert found["rejects"].count(b",not an integer id,") == 3
    assert found["rejects"].count(b",budget,not a number,/") == 3
    assert found["rejects"].count(b'"expected 24 cells, found 3"') == 1


@pytest.mark.parametrize(
    "column",
    [
        "id",
        "title",
        "genres",
        "release_date",
        "overview",
        "production_countries",
        "spoken_languages",
        "budget",
        "revenue",
    ],
)
def test_movie_without_a_required_cell_is_excluded_but_not_rejected(tmp_path: Path, column: str) -> None:
    film = movie("1", "T", *BOTH, budget="1", revenue="1", overview=GOOD)
    alone = movie("1", "T", USA, budget="1", revenue="1", overview=GOOD)
    movies_folder(tmp_path, [film | {column: ""}, alone | {column: ""}], [rating("1", "5")], [credit("1", "A")])
    found = compare("movies", tmp_path)
    assert found.keys() == {"q1", "q2", "q3", "q4", "q5"}
    assert all(answer.count(b"\n") == 1 for answer in found.values())


BAD_CELLS = {
    "id": ("x", "12345"),
    "genres": ("x", "1"),
    "production_countries": ("x", "12345"),
    "budget": ("x", "25"),
    "revenue": ("x", "5"),
    "spoken_languages": ("x", ""),
    "release_date": ("x", ""),
    "original_language": ("x", ""),
}
"""An unreadable cell, and the queries from which its row is then excluded."""


@pytest.mark.parametrize("column", BAD_CELLS)
def test_unreadable_cell_excludes_its_row_from_queries_that_use_it(tmp_path: Path, column: str) -> None:
    bad, out_of = BAD_CELLS[column]
    movies_folder(
        tmp_path,
        [
            movie("1", "T", *BOTH, USA, budget="10", revenue="3", overview=GOOD) | {column: bad},
            movie("2", "T", "Chile", budget="10") | {column: bad},
        ],
        [rating("1", "5")],
        [credit("1", "A")],
    )
    found = compare("movies", tmp_path)
    rejects = found.get("rejects", b"").count(f",{column},".encode())
    assert rejects == (2 if out_of else 0)
    if out_of:
        missing = "".join(query[1] for query in ("q1", "q2", "q3", "q4", "q5") if found[query].count(b"\n") == 1)
        assert missing == out_of


def test_unreadable_ratings_and_credits_are_excluded(tmp_path: Path) -> None:
    movies_folder(
        tmp_path,
        [argentine("1")],
        [rating("1", "5"), rating("1", "x"), rating("x", "1"), rating("1", ""), rating("", "1"), rating("1.5", "1")],
        [credit("1", "A"), credit("x", "B"), {"id": "1", "cast": "x"}, {"id": "1"}, {"cast": names("C")}],
    )
    found = compare("movies", tmp_path, ["q3", "q4"])
    assert found["q3"] == lines("which,id,title,rating", "best,1,T,5.0", "worst,1,T,5.0")
    assert found["q4"] == lines("actor,appearances", "A,1")
    assert found["rejects"].count(b"\n") == 6


@pytest.mark.parametrize(
    "cell", ["[{'name': 'A'}, {'id': 2}]", "[{'name': None}]", "{'name': 'A'}", "[1]", "[{}]", "['A']"]
)
def test_cast_entry_without_a_name_is_rejected(tmp_path: Path, cell: str) -> None:
    movies_folder(tmp_path, [argentine("1")], [], [{"id": "1", "cast": cell}, credit("1", "Z")])
    found = compare("movies", tmp_path, ["q4"])
    assert found["q4"] == lines("actor,appearances", "Z,1")
    assert found["rejects"].count(b"\n") == 2


def test_literals_with_quotes_none_and_nested_values(tmp_path: Path) -> None:
    cast = (
        "[{'cast_id': 1, 'name': \"D'Arc\", 'ok': True, 'x': None, 'l': [1, {'name': 'inner'}], 'f': -1.5e3},"
        " {\"name\": 'say \\'hi\\'', 'name': 'last \\u00e9 wins'}, {'name': '\U0001f600\\U0001F600\\n'}]"
    )
    movies_folder(tmp_path, [argentine("1")], [], [{"id": "1", "cast": cast}])
    found = compare("movies", tmp_path, ["q4"])
    assert found["q4"] == lines("actor,appearances", "D'Arc,1", "last é wins,1", '"\U0001f600\U0001f600\n",1')


def test_q1_requires_both_countries_and_the_first_decade(tmp_path: Path) -> None:
    dates = ["2000-01-01", "2009-12-31", "2004-02-29"]
    others = ["1999-12-31", "2010-01-01", "2005-02-29", "2005-13-01", "2005", "2005-1-1", "2005-01-01 ", "12/31/2005"]
    movies_folder(
        tmp_path,
        [movie("1", date, *BOTH, release_date=date) for date in dates + others]
        + [movie("1", "one", "Argentina"), movie("1", "other", "Spain"), movie("1", "case", "argentina", "Spain")]
        + [movie("1", "none")],
    )
    found = compare("movies", tmp_path, ["q1", "q2", "q4"])
    assert found["q1"] == lines("title,genres", *(f"{date}," for date in dates))
    assert "rejects" not in found


def test_q1_is_in_input_order_and_keeps_duplicates(tmp_path: Path) -> None:
    genres = names("Sci, Fi", 'a "b"', "Zoë")
    movies_folder(tmp_path, [movie("2", "Z", *BOTH, genres=genres), movie("1", "A", *BOTH), movie("1", "A", *BOTH)])
    assert compare("movies", tmp_path, ["q1"])["q1"] == lines("title,genres", 'Z,"Sci, Fi; a ""b""; Zoë"', "A,", "A,")


def test_q2_breaks_a_tie_at_the_fifth_place_by_country(tmp_path: Path) -> None:
    countries = ["\U0001d4b3", "\uffee", "Zaire", "Åland", "b", "B", "Chile"]
    movies_folder(
        tmp_path, [movie(str(i), "T", country, budget="10") for i, country in enumerate(countries)] + [movie("9")]
    )
    assert compare("movies", tmp_path, ["q2"])["q2"] == lines(
        "country,budget", "B,10", "Chile,10", "Zaire,10", "b,10", "Åland,10"
    )


def test_q2_sums_exactly_over_lists_with_one_entry(tmp_path: Path) -> None:
    movies_folder(
        tmp_path,
        [
            movie("1", "T", "Chile", budget="12345678901234567", release_date="not a date"),
            movie("1", "T", "Chile", budget="12345678901234567.000000000000000001"),
            movie("1", "T", "Chile", budget="-1"),
            movie("2", "T", "Peru", budget="0.10"),
            movie("3", "T", "Peru", budget="0.2"),
            movie("4", "T", "Cuba", "Cuba", budget="9"),
            movie("5", "T", budget="9"),
            movie("6", "T", "Zero", budget="0.00"),
        ],
    )
    assert compare("movies", tmp_path, ["q2"])["q2"] == lines(
        "country,budget", "Chile,24691357802469133.000000000000000001", "Peru,0.3", "Zero,0"
    )


def test_q3_breaks_ties_by_id_and_then_title(tmp_path: Path) -> None:
    films = [
        argentine("10", "a"),
        argentine("9", "b"),
        argentine("9.0", "a"),
        argentine("9", "a"),
        argentine("11", "0"),
    ]
    movies_folder(tmp_path, films, [rating(id_, "3") for id_ in ("9", "10.0", "11")])
    assert compare("movies", tmp_path, ["q3"])["q3"] == lines("which,id,title,rating", "best,9,a,3.0", "worst,9,a,3.0")


def test_q3_without_rated_candidates_has_only_a_header(tmp_path: Path) -> None:
    movies_folder(
        tmp_path,
        [argentine("1"), argentine("2", release_date="1999-12-31"), movie("3", "T", "Chile")],
        [rating("2", "5"), rating("3", "5"), rating("4", "5"), rating("1", "")],
    )
    assert compare("movies", tmp_path, ["q3"])["q3"] == lines("which,id,title,rating")


def test_q3_compares_means_exactly(tmp_path: Path) -> None:
    stars = {
        "1": ["0.1"] * 10,
        "2": ["0.1"] * 9 + ["0.100000000000000001"],
        "3": ["0.1"] * 9 + ["0.099999999999999999"],
    }
    movies_folder(
        tmp_path,
        [argentine(id_, f"film {id_}") for id_ in stars],
        [rating(id_, each) for id_, given in stars.items() for each in given],
    )
    assert compare("movies", tmp_path, ["q3"])["q3"] == lines(
        "which,id,title,rating", "best,2,film 2,0.1", "worst,3,film 3,0.1"
    )


def test_q3_shows_a_mean_with_all_its_digits(tmp_path: Path) -> None:
    movies_folder(tmp_path, [argentine("1")], [rating("1", "4"), rating("1", "4"), rating("1", "5")])
    assert b",4.333333333333333\n" in compare("movies", tmp_path, ["q3"])["q3"]


def test_q3_does_not_multiply_ratings_by_duplicate_movies(tmp_path: Path) -> None:
    movies_folder(tmp_path, [argentine("1"), argentine("1"), argentine("2")], [rating("1", "5"), rating("2", "4")])
    assert compare("movies", tmp_path, ["q3"])["q3"] == lines("which,id,title,rating", "best,1,T,5.0", "worst,2,T,4.0")


def test_small_ratings_file_replaces_missing_ratings(tmp_path: Path) -> None:
    movies_folder(tmp_path, [argentine("1")], [rating("1", "2")])
    (tmp_path / "ratings.csv").rename(tmp_path / "ratings_small.csv")
    assert b"best,1,T,2.0" in compare("movies", tmp_path)["q3"]
    write(tmp_path / "ratings.csv", rating("1", "4"))
    assert b"best,1,T,4.0" in compare("movies", tmp_path)["q3"]


def test_q4_counts_each_combination_of_movie_credits_and_cast_entry(tmp_path: Path) -> None:
    films = [argentine("1"), argentine("1"), argentine("1.0", "other"), movie("1", "T", "Spain"), argentine("2")]
    movies_folder(tmp_path, films, [], [credit("1", "A", "A", "B"), credit("01", "A"), credit("3", "C"), credit("2")])
    assert compare("movies", tmp_path, ["q4"])["q4"] == lines("actor,appearances", "A,9", "B,3")


def test_q4_breaks_a_tie_at_the_tenth_place_by_actor(tmp_path: Path) -> None:
    actors = ["\U0001f600", "\uffee", "Z", "z", "É", "E\u0301", "E", "", " ", "a", "b", "c", "c"]
    movies_folder(tmp_path, [argentine("1")], [], [credit("1", *actors)])
    found = compare("movies", tmp_path, ["q4"])["q4"].decode().splitlines()[1:]
    assert found == ["c,2", *(f"{actor},1" for actor in sorted(set(actors) - {"c"})[:9])]


def test_q5_uses_american_movies_in_english_with_budget_and_revenue(tmp_path: Path) -> None:
    movies_folder(
        tmp_path,
        [
            american("1", "10", "30", GOOD),
            american("2", "10", "20", GOOD),
            american("3", "0", "20", GOOD),
            american("4", "10", "0.00", GOOD),
            american("5", "10", "1", GOOD, original_language="es"),
            american("6", "10", "1", GOOD, original_language=""),
            american("7", "10", "1", GOOD, release_date="1999-12-31"),
            american("8", "10", "1", GOOD, release_date="soon"),
            american("9", "10", "1", "It is."),
            american("10", "10", "1", " "),
            movie("11", "T", "Chile", budget="10", revenue="1", overview=GOOD),
        ],
    )
    assert compare("movies", tmp_path)["q5"] == lines("sentiment,ratio,movies", "positive,2.5,2")


def test_q5_has_both_sentiments_negative_first(tmp_path: Path) -> None:
    movies_folder(
        tmp_path, [american("1", "4", "1", GOOD), american("1", "-4", "1", BAD), american("1", "4", "1", BAD)]
    )
    assert compare("movies", tmp_path, ["q5"])["q5"] == lines(
        "sentiment,ratio,movies", "negative,0.0,2", "positive,0.25,1"
    )


def test_q5_sum_of_ratios_does_not_depend_on_order(tmp_path: Path) -> None:
    pairs = [("1", "10000000000000000"), ("3", "1"), ("-1", "10000000000000000"), ("7", "3"), ("10", "1"), ("3", "2")]
    movies_folder(tmp_path, [american(str(i), budget, revenue, GOOD) for i, (budget, revenue) in enumerate(pairs)])
    expected = math.fsum(int(revenue) / int(budget) for budget, revenue in pairs) / len(pairs)
    assert compare("movies", tmp_path, ["q5"])["q5"] == lines("sentiment,ratio,movies", f"positive,{expected!r},6")


def test_q5_can_score_with_textblob(tmp_path: Path) -> None:
    films = [
        american(str(i), "2", str(i + 1), text) for i, text in enumerate([GOOD, BAD, "not good", "very bad", "meh"])
    ]
    movies_folder(tmp_path, films)
    compare("movies", tmp_path, ["q5"], sentiment="textblob")


def test_quoted_newlines_crlf_and_a_byte_order_mark(tmp_path: Path) -> None:
    film = movie("1", 'The "T"', *BOTH, overview='First line,\n"second" line\n\nfourth', budget="x")
    movies_folder(tmp_path, [film, film], [rating("1", "x")], [credit("1", "A")])
    plain = compare("movies", tmp_path)
    assert plain["rejects"].splitlines()[1:3] == [
        b"movies_metadata.csv,2,budget,not a number,x",
        b"movies_metadata.csv,6,budget,not a number,x",
    ]
    for path in tmp_path.iterdir():
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert compare("movies", tmp_path) == plain


def test_invalid_utf8_in_a_list_becomes_a_replacement_character(tmp_path: Path) -> None:
    movies_folder(tmp_path, [argentine("1")], [], [credit("1", "BAD", "Z")])
    rewrite(tmp_path / "credits.csv", b"BAD", b"\xe9\xff")
    assert compare("movies", tmp_path, ["q4"])["q4"] == lines("actor,appearances", "Z,1", "\ufffd\ufffd,1")


def test_ids_in_different_notations_are_equal(tmp_path: Path) -> None:
    same = ["7", "7.0", "07", "+7", "7.", "7.000"]
    others = ["7.5", "7e0", " 7", "7 ", "٧", "-7", "0x7", "7,0", "9223372036854775808", "1" * 30]
    movies_folder(
        tmp_path, [argentine("7")], [rating(id_, "1") for id_ in same + others], [credit(id_, "A") for id_ in same]
    )
    found = compare("movies", tmp_path, ["q3", "q4"])
    assert found["q4"] == lines("actor,appearances", "A,6")
    assert found["rejects"].count(b"not an integer id") == len(others) - 1
