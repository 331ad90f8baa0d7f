"""Books: edge cases of the query rules on small inputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.comparing import compare
from tests.e2e.rows import append, book, books_folder, empty_folder, review, rewrite
from tests.oracle.writing import lines

pytestmark = pytest.mark.slow

COMPUTERS = "['Computers']"
FICTION = "['Fiction']"
REJECTS = "file,line,column,reason,raw"


def distributed(title: str = "Distributed", date: str = "2001", **cells: str) -> dict[str, str]:
    return book(title, date, **({"categories": COMPUTERS} | cells))


def test_empty_tables_give_headers(tmp_path: Path) -> None:
    empty_folder("books", tmp_path)
    assert compare("books", tmp_path) == {
        "q1": lines("title,authors,publisher"),
        "q2": lines("author,decades"),
        "q3": lines("title,authors,reviews"),
        "q4": lines("title,rating"),
        "q5": lines("title,sentiment"),
    }


def test_a_header_without_a_line_end_is_an_empty_table(tmp_path: Path) -> None:
    empty_folder("books", tmp_path)
    for path in tmp_path.iterdir():
        path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    assert "rejects" not in compare("books", tmp_path)


def test_one_row(tmp_path: Path) -> None:
    books_folder(tmp_path, [distributed(publisher="P")], [review("Distributed", "5", "good")])
    assert compare("books", tmp_path)["q1"] == lines("title,authors,publisher", "Distributed,A,P")


def test_a_last_record_without_a_line_end_counts(tmp_path: Path) -> None:
    books_folder(tmp_path, [distributed("a distributed"), distributed("b distributed")])
    path = tmp_path / "books_data.csv"
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    assert compare("books", tmp_path, ["q1"])["q1"].count(b"\n") == 3


def test_all_rows_rejected(tmp_path: Path) -> None:
    empty_folder("books", tmp_path)
    append(tmp_path / "books_data.csv", b"too,few\n" * 5)
    append(tmp_path / "Books_rating.csv", b'"a"b\n' * 5)
    found = compare("books", tmp_path)
    assert found["rejects"].count(b"\n") == 11
    assert found["q3"] == lines("title,authors,reviews")


def shown(found: dict[str, bytes], query: str = "q1") -> list[str]:
    """The first cell of every row that needs no quotes."""
    return [line.partition(",")[0] for line in found[query].decode().splitlines()[1:]]


def test_q1_is_case_insensitive(tmp_path: Path) -> None:
    titles = [
        "DISTRIBUTED",
        "ﬆ distributed ß ẞ",
        "ΟΔΟΣ Distributed ΣΑΣ",
        "İ DISTRIBUTED",
        "\U0001f600 distributed \U0001d4b3",
        "e\u0301 distributed",
        "null\x00distributed",
        "undistributedly",
    ]
    others = ["DİSTRIBUTED", "dıstrıbuted", "distribuŧed", "distri\u00adbuted", "ｄistributed"]
    books_folder(tmp_path, [distributed(title) for title in titles + others])
    assert shown(compare("books", tmp_path, ["q1"])) == titles


def test_q1_shows_titles_with_quotes_and_newlines(tmp_path: Path) -> None:
    titles = [
        'He said "distributed"',
        "two\nlines, distributed",
        "two\r\nlines, distributed",
        "lone\rreturn, distributed",
        "distributed\n",
    ]
    books_folder(tmp_path, [distributed(title) for title in titles])
    assert compare("books", tmp_path, ["q1"])["q1"].count(b",A,\n") == len(titles)


def test_the_year_is_the_first_four_digits_together(tmp_path: Path) -> None:
    taken = ["2000", "2023-12-31", "20010203", "c2001*", "12-2005", " 2001", "2001\n", "0 2001"]
    others = ["1999", "2024", "20??", "200?", "02002", "２００１", "no date", "", "1963*", "9999-2001", "200.1"]
    books_folder(tmp_path, [distributed(f"distributed {date!r}", date) for date in taken + others])
    assert shown(compare("books", tmp_path, ["q1", "q2", "q3"])) == [f"distributed {date!r}" for date in taken]


def test_a_category_is_a_whole_element_ignoring_case(tmp_path: Path) -> None:
    taken = [
        "['COMPUTERS']",
        '["computers"]',
        "['Art', 'Computers']",
        "['\\x43omputers']",
        "['Comp' 'uters']",
        "[ 'Computers' , ]",
    ]
    others = ["['Computers, Art']", "[' Computers']", "[]", "['ComPUTErſ']", "[['Computers']]", "'Computers'"]
    books_folder(
        tmp_path,
        [distributed(f"distributed {place}", categories=categories) for place, categories in enumerate(taken + others)],
    )
    found = compare("books", tmp_path, ["q1", "q5"])
    assert shown(found) == [f"distributed {place}" for place in range(len(taken))]
    assert found["rejects"].count(b"\n") == 3


@pytest.mark.parametrize("column", ["Title", "authors", "categories", "publishedDate"])
def test_book_without_a_required_cell_is_excluded_but_not_rejected(tmp_path: Path, column: str) -> None:
    rows = [distributed(categories="['Computers', 'Fiction']"), distributed(date="1995", categories=FICTION)]
    books_folder(tmp_path, [row | {column: ""} for row in rows], [review("Distributed", "5", "good")] * 500)
    found = compare("books", tmp_path)
    assert found.keys() == {"q1", "q2", "q3", "q4", "q5"}
    assert all(answer.count(b"\n") == 1 for answer in found.values())


def test_a_missing_publisher_is_shown_empty_and_blanks_are_text(tmp_path: Path) -> None:
    books_folder(tmp_path, [distributed(), distributed(publisher=" "), distributed(publisher="NA")])
    assert compare("books", tmp_path, ["q1"])["q1"] == lines(
        "title,authors,publisher", "Distributed,A,", "Distributed,A, ", "Distributed,A,NA"
    )


def test_unreadable_authors_do_not_affect_q5(tmp_path: Path) -> None:
    books_folder(
        tmp_path,
        [distributed(date="1995", authors="nobody", categories=FICTION)],
        [review("Distributed", "5", "good")] * 500,
    )
    found = compare("books", tmp_path)
    assert found["q3"] == lines("title,authors,reviews")
    assert found["q5"] == lines("title,sentiment", "Distributed,0.4404")
    assert found["rejects"] == lines(REJECTS, "books_data.csv,2,authors,not a list of texts,nobody")


def test_unreadable_categories_do_not_affect_q2_q3_and_q4(tmp_path: Path) -> None:
    books_folder(tmp_path, [distributed(date="1995", categories="x")], [review("Distributed", "5", "good")] * 500)
    found = compare("books", tmp_path)
    assert found["q4"] == lines("title,rating", "Distributed,5.0")
    assert found["q5"] == lines("title,sentiment")
    assert found["rejects"] == lines(REJECTS, "books_data.csv,2,categories,not a list of texts,x")


def test_two_unreadable_cells_of_a_row_are_two_rejects(tmp_path: Path) -> None:
    books_folder(tmp_path, [book("T", authors="y", categories="x")] * 2)
    assert compare("books", tmp_path)["rejects"] == lines(
        REJECTS,
        "books_data.csv,2,authors,not a list of texts,y",
        "books_data.csv,2,categories,not a list of texts,x",
        "books_data.csv,3,authors,not a list of texts,y",
        "books_data.csv,3,categories,not a list of texts,x",
    )


LISTS = [
    "['A', None]",
    "('A',)",
    "{'A'}",
    "'A'",
    "['A'",
    "['A']]",
    "[A]",
    "[1]",
    "[['A']]",
    "['\\ud800']",
    "['A'] # comment",
    "[f'A']",
    "[b'A']",
    "[r'A\\n']",
    "['''A\nB''']",
    " ['A']",
    "['A' 'B']",
    "['A',,]",
    "['\\N{BULLET}']",
    "['\\\n']",
    "[\"it's\", 'a \"b\"', 'c\\'d', 'e\\\\']",
    "[]",
]


def test_a_list_is_read_as_python_reads_it(tmp_path: Path) -> None:
    books_folder(tmp_path, [distributed(authors=authors) for authors in LISTS])
    found = compare("books", tmp_path, ["q1"])
    assert (found["q1"].count(b"\nDistributed,"), found["rejects"].count(b",authors,")) == (9, len(LISTS) - 9)


def test_raw_is_truncated_to_500_characters(tmp_path: Path) -> None:
    books_folder(tmp_path, [book("T", authors="\U0001f600" * 600)])
    assert compare("books", tmp_path)["rejects"].decode().endswith("," + "\U0001f600" * 500 + "\n")


def test_an_author_of_exactly_ten_decades(tmp_path: Path) -> None:
    decades = [f"{year}-01-01" for year in range(1900, 2000, 10)]
    books_folder(
        tmp_path,
        [book("T", date, "['Ten', 'Nine']") for date in decades[:9]]
        + [book("T", decades[9], "['Ten']"), book("T", "1909", "['Nine']"), book("T", "19??", "['Nine']")],
    )
    assert compare("books", tmp_path, ["q2"])["q2"] == lines("author,decades", "Ten,10")


def test_authors_are_ordered_by_code_point(tmp_path: Path) -> None:
    authors = ["b", "B", "é", "e\u0301", "\uffee", "\U0001d4b3", "Z", "", " ", "ß", "ss"]
    books_folder(tmp_path, [book("T", str(year), repr(authors)) for year in range(1900, 2010, 10)])
    assert compare("books", tmp_path, ["q2"])["q2"].decode().splitlines()[1:] == [
        f"{author},11" for author in sorted(authors)
    ]


def test_an_author_named_twice_in_a_book_counts_one_decade(tmp_path: Path) -> None:
    books_folder(tmp_path, [book("T", str(year), "['A', 'A']") for year in range(1910, 2000, 10)])
    assert compare("books", tmp_path, ["q2"])["q2"] == lines("author,decades")


def test_exactly_500_reviews_are_enough(tmp_path: Path) -> None:
    reviews = [review("499")] * 499 + [review("500")] * 500
    books_folder(tmp_path, [book("499"), book("500")], reviews)
    assert compare("books", tmp_path, ["q3"])["q3"] == lines("title,authors,reviews", "500,A,500")


def test_titles_that_differ_by_case_or_form_are_distinct(tmp_path: Path) -> None:
    titles = ["Title", "title", "é", "e\u0301", "title "]
    books_folder(tmp_path, [book(title) for title in titles], [review(title, "3") for title in titles] * 500)
    found = compare("books", tmp_path, ["q3", "q4"])["q3"].decode().splitlines()[1:]
    assert found == [f"{title},A,500" for title in sorted(titles)]


def test_title_is_of_the_1990s_if_any_of_its_rows_is(tmp_path: Path) -> None:
    books_folder(
        tmp_path,
        [
            book("T", "1989", "['not this']"),
            book("T", "1999-05", "['bad', 1]"),
            book("T", "1992", "['this', 'one']"),
            book("T", "1990", "['nor this']"),
            book("t", "2000"),
        ],
        [review("T"), review("t")] * 500,
    )
    assert compare("books", tmp_path)["q3"] == lines("title,authors,reviews", "T,this; one,500")


def test_duplicate_titles_do_not_multiply_reviews(tmp_path: Path) -> None:
    books_folder(tmp_path, [book("T", categories=FICTION)] * 3, [review("T", "4", "good")] * 499)
    found = compare("books", tmp_path)
    assert found["q3"] == lines("title,authors,reviews")
    assert found["q5"] == lines("title,sentiment", "T,0.4404")


def test_a_tie_at_the_tenth_place_is_broken_by_title(tmp_path: Path) -> None:
    titles = ["\U0001d4b3", "\uffee", *(f"t{number:02}" for number in range(10))]
    books_folder(tmp_path, [book(title) for title in titles], [review(title, "4.5") for title in titles] * 500)
    assert compare("books", tmp_path, ["q4"])["q4"] == lines(
        "title,rating", *(f"t{number:02},4.5" for number in range(10))
    )


def test_means_that_are_equal_as_floats_are_ranked_exactly(tmp_path: Path) -> None:
    # The two means differ by 2e-20: less than floats near 3 can tell apart.
    low, high = "3.000000000000000000", "3.00000000000000001"
    books_folder(
        tmp_path,
        [book("a"), book("b")],
        [review("a", low), review("b", low)] * 499 + [review("a", low), review("b", high)],
    )
    assert compare("books", tmp_path, ["q4"])["q4"] == lines("title,rating", "b,3.0", "a,3.0")


def test_a_mean_of_many_tenths_is_exact(tmp_path: Path) -> None:
    books_folder(tmp_path, [book("T")], [review("T", "0.1")] * 700)
    assert compare("books", tmp_path, ["q4"])["q4"] == lines("title,rating", "T,0.1")


def test_missing_and_unreadable_scores_count_as_reviews_only(tmp_path: Path) -> None:
    bad = ["", "high", "5,0", "1e1", " 5", "nan", "5_0", "٥", "."]
    books_folder(
        tmp_path, [book("T"), book("unscored")], [review("T", "4")] * 491 + [review("T", score) for score in bad]
    )
    append(tmp_path / "Books_rating.csv", b",unscored,,,,,,,,\n" * 500)
    found = compare("books", tmp_path)
    assert found["q3"] == lines("title,authors,reviews", "T,A,500", "unscored,A,500")
    assert found["q4"] == lines("title,rating", "T,4.0")
    assert found["rejects"].count(b"\n") == len(bad)


def test_blank_reviews_are_scored_and_empty_ones_are_not(tmp_path: Path) -> None:
    books_folder(
        tmp_path,
        [book("blank", categories=FICTION), book("empty", categories=FICTION)],
        [review("blank", text=" "), review("blank", text="\n"), review("empty")],
    )
    assert compare("books", tmp_path, ["q5"])["q5"] == lines("title,sentiment", "blank,0.0")


@pytest.mark.parametrize("number", [1, 2, 3, 10, 11, 12, 21])
def test_the_percentile_of_a_few_titles(tmp_path: Path, number: int) -> None:
    books_folder(
        tmp_path,
        [book(f"t{place:02}", categories=FICTION) for place in range(number)],
        [
            review(f"t{place:02}", text=text)
            for place in range(number)
            for text in ["good"] * (place + 1) + ["bad"] * (number - place)
        ],
    )
    compare("books", tmp_path, ["q5"])


def test_values_equal_to_the_percentile_are_included(tmp_path: Path) -> None:
    # Eleven means: the 90th percentile is the tenth of them, and three titles share it.
    texts = ["bad"] * 8 + ["good"] * 3
    books_folder(
        tmp_path,
        [book(f"t{place:02}", categories=FICTION) for place in range(11)],
        [review(f"t{place:02}", text=text) for place, text in enumerate(texts)],
    )
    assert compare("books", tmp_path, ["q5"])["q5"] == lines(
        "title,sentiment", "t08,0.4404", "t09,0.4404", "t10,0.4404"
    )


def test_equal_means_are_all_included(tmp_path: Path) -> None:
    titles = ["b", "a", "\U0001f600"]
    books_folder(
        tmp_path, [book(t, categories=FICTION) for t in titles], [review(t, text="sad :(") for t in titles] * 7
    )
    assert compare("books", tmp_path, ["q5"])["q5"].count(b"\n") == 4


def test_a_title_is_fiction_if_any_of_its_rows_is(tmp_path: Path) -> None:
    books_folder(
        tmp_path,
        [book("T", categories="['History']"), book("T", "undated", categories="['FICTION']")],
        [review("T", text="fine")],
    )
    assert compare("books", tmp_path, ["q5"])["q5"].count(b"\n") == 2


def test_texts_are_scored_as_the_library_scores_them(tmp_path: Path) -> None:
    texts = [
        "\U0001f600",
        "VERY good!!!",
        "not bad",
        "good\nbad",
        "kind of :-)",
        "the shit",
        "\x00",
        "a" * 9000,
        "¡malo!",
    ]
    for sentiment in ("vader", "textblob"):
        books_folder(tmp_path, [book("T", categories=FICTION)], [review("T", text=text) for text in texts])
        compare("books", tmp_path, ["q5"], sentiment=sentiment)


def test_a_byte_order_mark_and_crlf_change_nothing(tmp_path: Path) -> None:
    books_folder(tmp_path, [distributed("Distributed, a\nb"), distributed(authors="x")], [review("T", "x")])
    plain = compare("books", tmp_path)
    for path in tmp_path.iterdir():
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n").replace(b"a\r\nb", b"a\nb"))
    assert compare("books", tmp_path) == plain


def test_columns_are_found_by_name_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "books_data.csv").write_text(
        "categories,extra,publishedDate,publisher,authors,Title\n['Computers'],x,2001,P,['A'],Distributed\n"
    )
    (tmp_path / "Books_rating.csv").write_text('review/text,Title,"review/score"\ngood,Distributed,5\n')
    assert compare("books", tmp_path)["q1"] == lines("title,authors,publisher", "Distributed,A,P")


def test_empty_lines_are_skipped_but_counted(tmp_path: Path) -> None:
    books_folder(tmp_path, [distributed("EMPTY"), distributed(authors="x")])
    rewrite(tmp_path / "books_data.csv", b"EMPTY", b"distributed")
    content = (tmp_path / "books_data.csv").read_bytes()
    (tmp_path / "books_data.csv").write_bytes(content.replace(b"\n", b"\n\n\r\n"))
    assert compare("books", tmp_path)["rejects"] == lines(REJECTS, "books_data.csv,7,authors,not a list of texts,x")


def test_invalid_utf8_becomes_a_replacement_character(tmp_path: Path) -> None:
    books_folder(tmp_path, [distributed("distributed BAD"), distributed(publisher="CUT")])
    rewrite(tmp_path / "books_data.csv", b"BAD", b"\xff\xc3\xed\xa0\x80\xf0\x9f\x98")
    rewrite(tmp_path / "books_data.csv", b"CUT", b"\xe2\x82")
    found = compare("books", tmp_path)
    assert "\ufffd" in found["q1"].decode()
    assert "rejects" not in found


@pytest.mark.parametrize(
    "fault",
    [
        b'"closed"too early,,,,,,,,,\n',
        b'"never closed,,,,,,,,,\n',
        b'x,"never closed either,,,,\n,,,,,,,\n',
        b'a "b" c,"d" ,,,,,,,,\n',
        b'"two\nlines"x,,,,,,,,,\n',
        b"one,cell,too,many,,,,,,,\n",
        b"too few\n",
        b',"ends in a quote"",,,,,,,,\n',
        b'"""',
        b'"\n',
    ],
)
def test_malformed_record_rejects_one_line(tmp_path: Path, fault: bytes) -> None:
    books_folder(tmp_path, [distributed("before, distributed"), distributed('after "distributed"'), book("x")])
    path = tmp_path / "books_data.csv"
    content = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*content[:2], fault, *content[2:]]))
    found = compare("books", tmp_path, ["q1"])
    assert b"before" in found["q1"]
    assert "rejects" in found


def test_quote_opens_a_cell_only_at_its_start(tmp_path: Path) -> None:
    raws = [b'a "b" c', b'it"s', b'""""', b'"a ""b"""', b'"a,b"', b'"a\r\nb"', b"a\rb", b' "x"']
    books_folder(tmp_path, [distributed(publisher=f"RAW{place}") for place in range(len(raws))])
    for place, raw in enumerate(raws):
        rewrite(tmp_path / "books_data.csv", b"RAW%d" % place, raw)
    found = compare("books", tmp_path, ["q1"])
    assert found["q1"].count(b"Distributed,") == len(raws)
    assert "rejects" not in found
