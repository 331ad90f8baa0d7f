"""The five books queries on rows small enough to answer by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.oracle.api import answer
from tests.oracle.writing import lines, write


def book(title: str, date: str = "1995", authors: str = "['A']", categories: str = "['X']") -> dict[str, str]:
    return {"Title": title, "publishedDate": date, "authors": authors, "categories": categories}


def review(title: str, score: str = "", text: str = "") -> dict[str, str]:
    return {"Title": title, "review/score": score, "review/text": text}


def books(data: Path, *rows: dict[str, str]) -> None:
    write(data / "books_data.csv", *rows)


def reviews(data: Path, *rows: dict[str, str]) -> None:
    write(data / "Books_rating.csv", *rows)


def test_q1_finds_computer_books_about_distribution_in_input_order(tmp_path: Path) -> None:
    computers = "['Art', 'COMPUTERS']"
    books(
        tmp_path,
        book("Z DISTRIBUTED things", "c2000", "['A, B', \"O'C\"]", computers) | {"publisher": 'P "Q"'},
        book("A distributed", "2023-01", categories="['computers']"),
        book("Distributed, of 1999", "1999", categories=computers),
        book("Distributed, of 2024", "2024", categories=computers),
        book("Distributed, without a year", "20??", categories=computers),
        book("Distributed art", "2001", categories="['Computers and art']"),
        book("DİSTRIBUTED", "2001", categories=computers),
        book("Distributed, no author", "2001", authors="", categories=computers),
        book("Distributed, bad author", "2001", authors="A", categories=computers),
    )
    assert answer("books", tmp_path, ["q1"]) == {
        "q1": lines("title,authors,publisher", 'Z DISTRIBUTED things,"A, B; O\'C","P ""Q"""', "A distributed,A,"),
        "rejects": lines("file,line,column,reason,raw", "books_data.csv,10,authors,not a list of texts,A"),
    }


def test_q2_counts_the_decades_of_each_author(tmp_path: Path) -> None:
    books(
        tmp_path,
        *(book("T", f"{year}", "['Ten', 'Nine']") for year in range(1900, 1990, 10)),
        book("T", "1905-02-03", "['Ten', 'Nine']"),
        book("T", "no date", "['Nine']"),
        book("T", "20010203", "['Ten']", "categories that do not parse"),
        book("", "2010", "['Nine']"),
        book("T", "2010", "['Nine']", ""),
    )
    assert answer("books", tmp_path, ["q2"]) == {"q2": lines("author,decades", "Ten,10")}


def test_q3_counts_every_review_of_a_title_and_takes_the_authors_of_its_first_row_of_the_1990s(
    tmp_path: Path,
) -> None:
    books(
        tmp_path,
        book("b", "2001", "['Too late']"),
        book("b", "1990", "['First', 'of the 1990s']"),
        book("b", "1999", "['Second']"),
        book("a", "1999-12-31"),
        book("few"),
        book("B", "1989"),
    )
    rows = [review("b"), review("b", "not a score"), review("a"), review("B")]
    reviews(tmp_path, *rows * 250, *[review("a")] * 250, *[review("few")] * 499, review(""))
    assert answer("books", tmp_path, ["q3"]) == {
        "q3": lines("title,authors,reviews", "a,A,500", "b,First; of the 1990s,500")
    }


def test_q4_ranks_the_titles_of_q3_by_their_exact_mean_score(tmp_path: Path) -> None:
    titles = [f"t{number:02}" for number in range(12)]
    books(tmp_path, *(book(title) for title in titles), book("unscored"), book("few"), book("bad"))
    rows = [review(title, "4.0") for title in titles] + [review("unscored"), review("bad", "4..0")]
    reviews(
        tmp_path,
        *rows * 499,
        *(review(title, "4") for title in titles[:10]),
        review("t10", "5.0"),
        review("t11", ""),
        review("unscored"),
        review("bad", "1"),
        review("few", "5"),
    )
    found = answer("books", tmp_path, ["q4"])
    assert found["q4"] == lines("title,rating", "t10,4.002", "t00,4.0", *(f"{title},4.0" for title in titles[1:9]))
    assert found["rejects"].count(b",review/score,not a number,4..0\n") == 499


def test_q4_counts_rows_with_a_bad_score_towards_the_500_of_q3(tmp_path: Path) -> None:
    books(tmp_path, book("t"))
    reviews(tmp_path, *[review("t", "bad")] * 499, review("t", "1"))
    assert answer("books", tmp_path, ["q4"])["q4"] == lines("title,rating", "t,1.0")


def test_q5_keeps_the_fiction_titles_at_or_above_the_90th_percentile(tmp_path: Path) -> None:
    books(
        tmp_path,
        *(book(title, categories="['fiction']") for title in ("mixed", "c", "b")),
        book("b", categories="['Other']"),
        book("factual", categories="['Nonfiction']"),
        book("silent", categories="['Fiction']"),
        book("undated", date="", categories="['Fiction']"),
        book("bad authors", authors="nobody", categories="['Fiction']"),
    )
    reviews(
        tmp_path,
        review("mixed", text="good"),
        review("mixed", text="bad"),
        review("b", text="great"),
        review("c", text="great"),
        review("c"),
        review("factual", text="great great"),
        review("silent"),
        review("undated", text="great great"),
        review("bad authors", text=" "),
    )
    assert answer("books", tmp_path, ["q5"]) == {"q5": lines("title,sentiment", "b,0.6249", "c,0.6249")}


def test_q5_takes_the_second_of_eleven_means_as_their_90th_percentile(tmp_path: Path) -> None:
    titles = [f"t{blanks:02}" for blanks in range(11)]
    books(tmp_path, *(book(title, categories="['Fiction']") for title in titles))
    neutral = [review(title, text=" ") for blanks, title in enumerate(titles) for _ in range(blanks)]
    reviews(tmp_path, *neutral, *(review(title, text="good") for title in titles))
    expected = lines("title,sentiment", "t00,0.4404", "t01,0.2202")
    assert answer("books", tmp_path, ["q5"]) == {"q5": expected}


def test_q5_shows_the_mean_of_the_scores_in_ten_thousandths(tmp_path: Path) -> None:
    books(tmp_path, book("t", categories="['Fiction']"))
    reviews(tmp_path, review("t", text="good"), review("t", text="bad"))
    assert answer("books", tmp_path, ["q5"]) == {"q5": lines("title,sentiment", "t,-0.05095")}


def test_q5_can_score_with_textblob(tmp_path: Path) -> None:
    books(tmp_path, book("t", categories="['Fiction']"))
    reviews(tmp_path, review("t", text="good"), review("t", text="good"), review("t", text=" "))
    found = answer("books", tmp_path, ["q5"], sentiment="textblob")
    assert found == {"q5": lines("title,sentiment", "t,0.4666666666666667")}


@pytest.mark.parametrize(
    ("query", "header"),
    [
        ("q1", "title,authors,publisher"),
        ("q2", "author,decades"),
        ("q3", "title,authors,reviews"),
        ("q4", "title,rating"),
        ("q5", "title,sentiment"),
    ],
)
def test_empty_answer_has_only_a_header(tmp_path: Path, query: str, header: str) -> None:
    books(tmp_path)
    reviews(tmp_path)
    assert answer("books", tmp_path, [query]) == {query: lines(header)}
