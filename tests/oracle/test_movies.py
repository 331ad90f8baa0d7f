"""The five movies queries on rows small enough to answer by hand."""

from __future__ import annotations

from pathlib import Path

from tests.oracle.api import answer
from tests.oracle.writing import lines, write

USA = "United States of America"


def names(*values: str) -> str:
    return repr([{"id": 1, "name": value} for value in values])


def movie(id_: str, title: str = "T", *countries: str, **cells: str) -> dict[str, str]:
    return {
        "id": id_,
        "title": title,
        "genres": "[]",
        "release_date": "2005-06-07",
        "overview": "It is.",
        "production_countries": names(*countries),
        "spoken_languages": "[]",
        "budget": "0",
        "revenue": "0",
        "original_language": "en",
    } | cells


def movies(data: Path, *rows: dict[str, str]) -> None:
    write(data / "movies_metadata.csv", *rows)


def ratings(data: Path, *rows: tuple[str, str]) -> None:
    write(data / "ratings.csv", *({"movieId": movie, "rating": rating} for movie, rating in rows))


def test_q1_requires_both_countries_and_the_first_decade(tmp_path: Path) -> None:
    both = ("Spain", "France", "Argentina")
    movies(
        tmp_path,
        movie("2", "Z", *both, genres=names("Drama", "Sci, Fi"), release_date="2000-01-01"),
        movie("1.0", "A", *both, release_date="2009-12-31"),
        movie("1", "A", *both, budget="not a number", spoken_languages="?"),
        movie("3", "one country", "Spain"),
        movie("4", "late", *both, release_date="2010-01-01"),
        movie("5", "no such day", *both, release_date="2005-02-30"),
        movie("6", "odd date", *both, release_date="2005"),
        movie("7", "no overview", *both, overview=""),
        movie("8", "no languages", *both, spoken_languages=""),
        movie("1997-08-20", "bad id", *both),
        movie("9", "bad genres", *both, genres="Drama"),
    )
    assert answer("movies", tmp_path, ["q1"]) == {
        "q1": lines("title,genres", 'Z,"Drama; Sci, Fi"', "A,", "A,"),
        "rejects": lines(
            "file,line,column,reason,raw",
            "movies_metadata.csv,11,id,not an integer id,1997-08-20",
            "movies_metadata.csv,12,genres,not a list of entries with that field,Drama",
        ),
    }


def test_q2_sums_the_budgets_of_movies_of_one_country(tmp_path: Path) -> None:
    movies(
        tmp_path,
        movie("1", "T", "France", budget="2256831838"),
        movie("1", "T", "France", budget="0.50", release_date="unknown"),
        movie("2", "T", "France", "Italy", budget="100"),
        movie("3", "T", budget="100"),
        movie("4", "T", "Spain", "Spain", budget="100"),
        movie("5", "T", "Chile", budget="100"),
        movie("6", "T", "Brazil", budget="100.0"),
        movie("7", "T", "Peru", budget="7"),
        movie("8", "T", "Cuba", budget="0"),
        movie("9", "T", "Zaire", budget="0"),
        movie("10", "T", "Peru", budget="/image.jpg", genres="?"),
    )
    assert answer("movies", tmp_path, ["q2"]) == {
        "q2": lines("country,budget", "France,2256831838.5", "Brazil,100", "Chile,100", "Peru,7", "Cuba,0"),
        "rejects": lines("file,line,column,reason,raw", "movies_metadata.csv,12,budget,not a number,/image.jpg"),
    }


def test_q3_finds_the_best_and_the_worst_with_ties_to_the_lowest_id_and_title(tmp_path: Path) -> None:
    movies(
        tmp_path,
        movie("30", "B", "Argentina"),
        movie("4", "B", "Argentina"),
        movie("4", "A", "Argentina", "Spain"),
        movie("4", "A", "Argentina"),
        movie("5", "worst", "Argentina"),
        movie("6", "unrated", "Argentina"),
        movie("7", "old", "Argentina", release_date="1999-12-31"),
        movie("8", "foreign", "Chile"),
    )
    ratings(
        tmp_path,
        *[("30", "4.5"), ("30", "4.0"), ("30", "4"), ("4", "4"), ("4.0", "4.5"), ("4", "4"), ("4", "")],
        *[("5", "1"), ("5", "bad"), ("6", ""), ("7", "5"), ("8", "5"), ("", "5")],
    )
    assert answer("movies", tmp_path, ["q3"]) == {
        "q3": lines("which,id,title,rating", "best,4,A,4.166666666666667", "worst,5,worst,1.0"),
        "rejects": lines("file,line,column,reason,raw", "ratings.csv,10,rating,not a number,bad"),
    }


def test_q3_single_candidate_is_best_and_worst(tmp_path: Path) -> None:
    movies(tmp_path, movie("1", "Only, one", "Argentina"))
    ratings(tmp_path, ("1", "3"))
    expected = lines("which,id,title,rating", 'best,1,"Only, one",3.0', 'worst,1,"Only, one",3.0')
    assert answer("movies", tmp_path, ["q3"]) == {"q3": expected}


def test_q4_counts_each_movie_row_with_each_credits_row_and_cast_entry(tmp_path: Path) -> None:
    movies(
        tmp_path,
        movie("1", "T", "Argentina", "Argentina"),
        movie("1", "T", "Argentina"),
        movie("2", "T", "Argentina", release_date="1999-01-01"),
        movie("3", "T", "Argentina"),
    )
    write(
        tmp_path / "credits.csv",
        {"id": "1", "cast": names("Twice", "Twice", "Once")},
        {"id": "1.0", "cast": names("Once")},
        {"id": "2", "cast": names("Old")},
        {"id": "3", "cast": names(*(f"n{number}" for number in range(9)))},
        {"id": "3", "cast": "[]"},
        {"id": "3", "cast": ""},
        {"id": "3", "cast": "[{'id': 4}]"},
    )
    assert answer("movies", tmp_path, ["q4"]) == {
        "q4": lines("actor,appearances", "Once,4", "Twice,4", *(f"n{number},1" for number in range(8))),
        "rejects": lines(
            "file,line,column,reason,raw",
            "credits.csv,8,cast,not a list of entries with that field,[{'id': 4}]",
        ),
    }


def test_q5_averages_revenue_over_budget_by_the_sentiment_of_the_overview(tmp_path: Path) -> None:
    movies(
        tmp_path,
        movie("1", "T", USA, budget="10", revenue="1", overview="good"),
        movie("2", "T", USA, "France", budget="10", revenue="2.0", overview="great"),
        movie("3", "T", USA, budget="10", revenue="3", overview="good"),
        movie("4", "T", USA, budget="3", revenue="1", overview="bad"),
        movie("5", "T", USA, budget="1", revenue="9", overview="It is."),
        movie("6", "T", "France", budget="1", revenue="9", overview="good"),
        movie("7", "T", USA, budget="0.0", revenue="9", overview="good"),
        movie("8", "T", USA, budget="1", revenue="0", overview="good"),
        movie("9", "T", USA, budget="1", revenue="9", overview="good", original_language="fr"),
        movie("10", "T", USA, budget="1", revenue="9", overview="good", release_date="1999-12-31"),
    )
    # fsum([0.1, 0.2, 0.3]) is the float 0.6, and the float nearest to a third of that one is just below 0.2.
    expected = lines("sentiment,ratio,movies", "negative,0.3333333333333333,1", "positive,0.19999999999999998,3")
    assert answer("movies", tmp_path, ["q5"]) == {"q5": expected}


def test_q5_has_no_row_for_a_sentiment_without_movies(tmp_path: Path) -> None:
    movies(tmp_path, movie("1", "T", USA, budget="2", revenue="3", overview="good"))
    assert answer("movies", tmp_path, ["q5"]) == {"q5": lines("sentiment,ratio,movies", "positive,1.5,1")}
