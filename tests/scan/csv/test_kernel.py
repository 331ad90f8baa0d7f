"""Splitting bytes into records and cells: hand-made cases, and independent readers."""

from __future__ import annotations

import csv
import io
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cauce.scan.csv.kernel import BROKEN, QUOTED_LIMIT
from tests.scan.scanning import RUNS, Reading, mutated, random_body, read_part, read_whole, reference


def cells(data: bytes, width: int = 2) -> list[list[str]]:
    reading = read_part(data, width)
    assert reading.faults == []
    return [record for _, record in reading.records]


def test_cells_are_cut_at_delimiters() -> None:
    assert cells(b"a,b\nc,d\n") == [["a", "b"], ["c", "d"]]


def test_a_record_may_end_with_crlf() -> None:
    assert cells(b'a,b\r\n"c","d"\r\n') == [["a", "b"], ["c", "d"]]


def test_the_last_record_may_have_no_line_end() -> None:
    assert cells(b"a,b\nc,d") == [["a", "b"], ["c", "d"]]
    assert cells(b'a,"b"') == [["a", "b"]]
    assert cells(b"a,") == [["a", ""]]


def test_empty_lines_are_not_records() -> None:
    assert cells(b"\n\r\na,b\n\n\r\n\nc,d\n\r\n") == [["a", "b"], ["c", "d"]]


def test_an_empty_quoted_cell_is_a_record() -> None:
    assert cells(b'""\n', width=1) == [[""]]


def test_a_cr_without_lf_is_text_in_an_unquoted_cell() -> None:
    assert cells(b"a\rb,\rc\r\r\nd,e\r") == [["a\rb", "\rc\r"], ["d", "e\r"]]
    assert cells(b"\ra,b\n\r,") == [["\ra", "b"], ["\r", ""]]


def test_quoted_cells_hold_delimiters_lines_and_doubled_quotes() -> None:
    assert cells(b'"a,\r\n""b""",""""\n') == [['a,\r\n"b"', '"']]


def test_a_quote_within_an_unquoted_cell_is_text() -> None:
    assert cells(b'a"b, "c"\n') == [['a"b', ' "c"']]


def test_text_after_a_closing_quote_rejects_one_line() -> None:
    assert read_part(b'a,b\n"c"d,e\nf,g\n', 2) == Reading([(1, ["a", "b"]), (3, ["f", "g"])], [(2, BROKEN)])


def test_a_cr_without_lf_after_a_closing_quote_is_a_fault() -> None:
    assert read_part(b'"a","b"\r,c\nd,e\n"f","g"\r', 2) == Reading([(2, ["d", "e"])], [(1, BROKEN), (3, BROKEN)])


def test_unclosed_quote_rejects_one_line() -> None:
    assert read_part(b'a,"b\nc,d\ne,f\n', 2) == Reading([(2, ["c", "d"]), (3, ["e", "f"])], [(1, BROKEN)])


def test_malformed_later_line_of_a_record_rejects_its_first_line() -> None:
    assert read_part(b'a,"b\nc,d" e\nf,g\n', 2) == Reading([(2, ["c", 'd" e']), (3, ["f", "g"])], [(1, BROKEN)])


def test_a_record_of_another_width_is_rejected_as_a_whole() -> None:
    assert read_part(b'a\nb,"c\nd",e\nf,g\n', 2) == Reading([(4, ["f", "g"])], [(1, 1), (2, 3)])


def test_the_delimiter_can_be_a_semicolon() -> None:
    assert read_part(b'a,b;"c;d"\n', 2, delimiter=";").records == [(1, ["a,b", "c;d"])]


@pytest.mark.parametrize("content", [b"x" * 9, b'x""' * 3, b'""""' + b"x" * 5, b"\n\r\nxxxxxx"])
def test_a_quoted_cell_may_have_as_many_bytes_as_the_limit(content: bytes) -> None:
    record = b'"' + content + b'",b\n'
    assert len(read_part(record, 2, limit=9).records) == 1
    assert read_part(record, 2, limit=8).faults[0] == (1, BROKEN)


def test_an_unquoted_cell_has_no_limit() -> None:
    assert cells(b"x" * 1000 + b",b\n") == [["x" * 1000, "b"]]
    assert read_part(b"x" * 1000 + b",b\n", 2, limit=8).faults == []


def test_the_limit_is_16_mib() -> None:
    assert QUOTED_LIMIT == 16 * 2**20
    longest = b'""' + b"x" * (QUOTED_LIMIT - 4) + b"\ny"
    assert [line for line, _ in read_part(b'"' + longest + b'",b\nc,d\n', 2).records] == [1, 3]
    assert read_part(b'"x' + longest + b'",b\nc,d\n', 2) == Reading([(2, ['y"', "b"]), (3, ["c", "d"])], [(1, BROKEN)])


def test_lines_that_all_run_on_to_the_end_take_linear_time() -> None:
    # Each line opens a record that fails at the end of the data; reading them one by one would take minutes.
    lines = 1_000_000
    reading = read_part(b'a","b\n' * lines, 3)
    assert reading.records == []
    assert reading.faults == [(line, BROKEN) for line in range(1, lines + 1)]


def test_quoted_cells_of_every_length_end_where_they_should() -> None:
    for size in range(200):
        text = "x" * size
        assert cells(f'"{text}",{text}\n{text},"{text}"'.encode()) == [[text, text]] * 2


def test_well_formed_files_read_as_the_csv_module_reads_them() -> None:
    rng = random.Random(1)
    for _ in range(400):
        data, delimiter = well_formed(rng)
        with io.StringIO(data.decode(), newline="") as text:
            expected = list(csv.reader(text, delimiter=delimiter, strict=True))[1:]
        reading = read_whole(data, delimiter=delimiter)
        assert reading.faults == []
        assert [record for _, record in reading.records] == expected


@pytest.mark.slow
def test_random_bytes_read_as_the_reference_reads_them() -> None:
    rng = random.Random(2)
    for _ in range(6000):
        data = b"x,y\n" + random_body(rng)
        delimiter, limit = rng.choice([",", ",", ";"]), rng.choice([QUOTED_LIMIT, QUOTED_LIMIT, 3, 70])
        assert read_whole(data, delimiter=delimiter, limit=limit) == reference(
            data, delimiter=delimiter, limit=limit
        ), data


def test_malformed_files_read_as_the_reference_reads_them() -> None:
    rng = random.Random(3)
    for _ in range(1500):
        data, delimiter = well_formed(rng)
        header, _, body = data.partition(b"\n")
        data = header + b"\n" + mutated(rng, body)
        assert read_whole(data, delimiter=delimiter) == reference(data, delimiter=delimiter), data


@settings(max_examples=400)
@given(st.lists(st.sampled_from(RUNS), max_size=30), st.sampled_from([5, 64, QUOTED_LIMIT]))
def test_any_bytes_read_as_the_reference_reads_them(tokens: list[bytes], limit: int) -> None:
    data = b"x,y\n" + b"".join(tokens)
    assert read_whole(data, limit=limit) == reference(data, limit=limit)


def well_formed(rng: random.Random) -> tuple[bytes, str]:
    """A file as csv writes it, with everything that a quoted cell may contain."""
    delimiter = rng.choice(",;")
    width = rng.randint(2, 5)
    text = io.StringIO(newline="")
    quoting = csv.QUOTE_MINIMAL if rng.random() < 0.5 else csv.QUOTE_ALL
    writer = csv.writer(text, delimiter=delimiter, lineterminator=rng.choice(["\n", "\r\n"]), quoting=quoting)
    # csv does not quote a cell for its CR alone, and then reads the CR as the end of a record.
    alphabet = 'ab,;" \né' if quoting == csv.QUOTE_MINIMAL else 'ab,;" \n\ré'
    writer.writerow([f"c{i}" for i in range(width)])
    for _ in range(rng.randrange(12)):
        writer.writerow(
            ["".join(rng.choices(alphabet, k=rng.choice([0, 1, 3, 9, rng.randrange(150)]))) for _ in range(width)]
        )
    return text.getvalue().encode(), delimiter
