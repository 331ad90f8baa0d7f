"""The reference reader, against cases worked out by hand and against a loop over single characters."""

from __future__ import annotations

import csv

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle.reader import Record, RecordReject, Sheet, read


def cells(data: bytes) -> list[list[str]]:
    sheet = read(data)
    assert sheet.rejects == []
    return [record.cells for record in sheet.records]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"1,2\n", [["1", "2"]]),
        (b"1,2\r\n3,4", [["1", "2"], ["3", "4"]]),
        (b'"1","2"\r\n', [["1", "2"]]),
        (b'"a ""b"" c",", and\nmore"\n', [['a "b" c', ", and\nmore"]]),
        (b'a"b"," ""x"""\n', [['a"b"', ' "x"']]),
        (b' "a" ,""\n', [[' "a" ', ""]]),
        (b'"a\r\nb","c\rd"\n', [["a\r\nb", "c\rd"]]),
        (b"\n\r\n1,2\n\n", [["1", "2"]]),
        (b"a\rb,\r\n", [["a\rb", ""]]),
        (b"1,2\r", [["1", "2\r"]]),
        (b"1,2\r\r\n", [["1", "2\r"]]),
        (b"\x00,\x0b\x0c\x1c\x85\n", [["\x00", "\x0b\x0c\x1c�"]]),
        ("é,\u2028\n".encode(), [["é", "\u2028"]]),
        (b"\xff\xe2\x82,a\xc3\n", [["��", "a�"]]),
        (b'"\xc3""",\xef\xbb\xbf\n', [['�"', "\ufeff"]]),
    ],
)
def test_cells_are_split_by_rfc_4180(body: bytes, expected: list[list[str]]) -> None:
    assert cells(b"x,y\n" + body) == expected


def test_a_bom_is_dropped_also_before_a_quoted_header() -> None:
    assert read(b'\xef\xbb\xbf"x",y\r\n1,2\r\n') == Sheet(["x", "y"], [Record(2, ["1", "2"])])


def test_other_delimiters_leave_commas_in_the_text() -> None:
    assert read(b"x;y\n1, 2;3\n", delimiter=";").records == [Record(2, ["1, 2", "3"])]


def test_a_file_without_records_has_no_header() -> None:
    assert read(b"\n\n") == Sheet([])


def test_malformed_header_is_an_error() -> None:
    with pytest.raises(ValueError, match="header"):
        read(b'"x"y,z\n')


@pytest.mark.parametrize(
    "line", [b'"a"b,2', b'1,"a" ', b'"a"\r,2', b'1,"a"\rb', b'1,"a" "b"', b'"a""b"c,2', b'1,"\xff"x']
)
def test_malformed_record_rejects_one_line(line: bytes) -> None:
    sheet = read(b"x,y\n1,2\n" + line + b"\r\n3,4\n")
    assert sheet.records == [Record(2, ["1", "2"]), Record(4, ["3", "4"])]
    assert sheet.rejects == [RecordReject(3, "broken quoting", line.decode(errors="replace"))]


def test_cr_between_a_closing_quote_and_the_end_of_the_file_is_malformed() -> None:
    assert read(b'x,y\n1,"2"\r').rejects == [RecordReject(2, "broken quoting", '1,"2"\r')]


def test_reading_continues_at_the_line_after_the_start_of_a_malformed_record() -> None:
    sheet = read(b'x,y\n1,"a\nb,c\n3,"d"\n4,5\n')
    assert sheet.records == [Record(3, ["b", "c"]), Record(4, ["3", "d"]), Record(5, ["4", "5"])]
    assert sheet.rejects == [RecordReject(2, "broken quoting", '1,"a')]


def test_unclosed_quote_rejects_only_its_line() -> None:
    sheet = read(b'x,y\n1,"a\n3,4\n5,6')
    assert sheet.records == [Record(3, ["3", "4"]), Record(4, ["5", "6"])]
    assert sheet.rejects == [RecordReject(2, "broken quoting", '1,"a')]


def test_a_wrong_number_of_cells_rejects_the_whole_record() -> None:
    sheet = read(b'x,y\n"1\n2"\n1,2,3\r\n4,5\n')
    assert sheet.records == [Record(5, ["4", "5"])]
    assert sheet.rejects == [
        RecordReject(2, "expected 2 cells, found 1", '"1\n2"'),
        RecordReject(4, "expected 2 cells, found 3", "1,2,3"),
    ]


def test_raw_text_is_truncated_to_500_characters_not_bytes() -> None:
    assert read(b"x,y\n" + "é".encode() * 600).rejects[0].raw == "é" * 500


def test_lines_are_counted_through_records_that_span_several_and_through_empty_ones() -> None:
    sheet = read(b'\nx,y\n"1\n\n",2\n\n3,4\n')
    assert sheet.records == [Record(3, ["1\n\n", "2"]), Record(7, ["3", "4"])]


def test_quoted_cell_may_have_at_most_the_limit_of_bytes() -> None:
    data = b'x,y\n1,"a""\n5"\n1,"a""\n56"\n123456789,2\n'
    sheet = read(data, quoted_limit_bytes=5)
    assert sheet.records == [Record(2, ["1", 'a"\n5']), Record(6, ["123456789", "2"])]
    assert sheet.rejects == [
        RecordReject(4, "broken quoting", '1,"a""'),
        RecordReject(5, "expected 2 cells, found 1", '56"'),
    ]


def test_cell_limit_is_independent_of_the_csv_module() -> None:
    before = csv.field_size_limit(1000)
    try:
        long = "a" * 1001
        assert cells(f'x,y\n"{long}",{long}\n'.encode()) == [[long, long]]
        assert csv.field_size_limit() == 1000
    finally:
        csv.field_size_limit(before)


def _by_hand(text: str, limit: int) -> Sheet:
    """The rules again, one character at a time, for input in ASCII."""
    found: list[tuple[int, list[str] | None, str]] = []
    begin, line = 0, 1
    while begin < len(text):
        end, cut = _record_by_hand(text, begin, limit)
        if cut is None:
            end = text.find("\n", begin) + 1 or len(text)
        raw = text[begin:end]
        if raw.endswith("\n"):
            raw = raw[:-2] if raw.endswith("\r\n") else raw[:-1]
        if raw:
            found.append((line, cut, raw))
        line += text.count("\n", begin, end)
        begin = end
    header = found[0][1] if found else []
    assert header is not None
    sheet = Sheet(header)
    for line, cut, raw in found[1:]:
        if cut is None:
            sheet.rejects.append(RecordReject(line, "broken quoting", raw))
        elif len(cut) != len(header):
            sheet.rejects.append(RecordReject(line, f"expected {len(header)} cells, found {len(cut)}", raw))
        else:
            sheet.records.append(Record(line, cut))
    return sheet


def _record_by_hand(text: str, at: int, limit: int) -> tuple[int, list[str] | None]:
    cut = []
    while True:
        cell = ""
        if text[at : at + 1] == '"':
            at += 1
            first = at
            while text[at : at + 1] != '"' or text[at : at + 2] == '""':
                if at >= len(text):
                    return at, None
                step = 2 if text[at] == '"' else 1
                cell += text[at]
                at += step
            if at - first > limit:
                return at, None
            at += 1
        else:
            while at < len(text) and text[at] not in ",\n" and text[at : at + 2] != "\r\n":
                cell += text[at]
                at += 1
        cut.append(cell)
        if at == len(text):
            return at, cut
        if text[at] == ",":
            at += 1
        elif text[at] == "\n":
            return at + 1, cut
        elif text[at : at + 2] == "\r\n":
            return at + 2, cut
        else:
            return at, None


@pytest.mark.slow
@settings(max_examples=1000, database=None)
@given(st.text(alphabet='a",\r\n', max_size=40), st.integers(0, 6))
def test_splitter_equals_a_loop_over_characters(body: str, limit: int) -> None:
    text = "x,y\n" + body
    assert read(text.encode(), quoted_limit_bytes=limit) == _by_hand(text, limit)
