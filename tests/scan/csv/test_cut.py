"""Boundaries of parts in files and streams; parts read alone give the same records as the whole."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cauce.errors import JobFailed, WrongColumns
from cauce.scan.csv.cut import Header, Range, cut_ranges, cut_stream, read_header
from cauce.scan.csv.kernel import BROKEN, QUOTED_LIMIT
from tests.oracle.reader import read
from tests.scan.scanning import RUNS, Reading, random_body, read_in_parts, read_whole, reference


def ranges(tmp_path: Path, data: bytes, part_bytes: int) -> list[Range]:
    path = tmp_path / "table.csv"
    path.write_bytes(data)
    return list(cut_ranges(path, delimiter=",", part_bytes=part_bytes))


def test_a_header_is_the_first_record() -> None:
    assert read_header(b'x,"y ""1""",\xc3\xa9\n1,2,3\n', ",") == Header(("x", 'y "1"', "é"), 15, 1)


def test_a_bom_before_the_header_is_dropped() -> None:
    assert read_header(b'\xef\xbb\xbf"x";y\r\n1;2\r\n', ";") == Header(("x", "y"), 10, 1)


def test_empty_lines_before_the_header_are_skipped_and_counted() -> None:
    assert read_header(b"\n\r\nx,y\n1,2\n", ",") == Header(("x", "y"), 7, 3)


def test_a_header_may_take_several_lines() -> None:
    assert read_header(b'"x\n\n",y\n1,2\n', ",") == Header(("x\n\n", "y"), 8, 3)


def test_a_header_may_be_all_there_is(tmp_path: Path) -> None:
    assert read_header(b"x,y", ",") == Header(("x", "y"), 3, 1)
    assert ranges(tmp_path, b"x,y", 10) == []
    assert ranges(tmp_path, b"x,y\n", 10) == []


def test_a_header_longer_than_the_window_is_read(tmp_path: Path) -> None:
    name = "x" * 3_000_000
    (tmp_path / "table.csv").write_text(f'"{name}",y\n1,2\n')
    assert read_header(tmp_path / "table.csv", ",").cells == (name, "y")


@pytest.mark.parametrize("data", [b"", b"\n\r\n\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n"])
def test_a_file_without_records_has_no_header(data: bytes) -> None:
    with pytest.raises(WrongColumns, match="the data is empty"):
        read_header(data, ",")


def test_a_header_with_broken_quotes_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_bytes(b'"x"y,z\n1,2\n')
    with pytest.raises(WrongColumns, match=r"table\.csv.*broken quotes"):
        read_header(tmp_path / "table.csv", ",")
    with pytest.raises(WrongColumns, match="the stream"):
        next(cut_stream(iter([b'x,"y\n1,2\n']), delimiter=",", part_bytes=10))


def test_a_header_without_any_name_is_rejected() -> None:
    with pytest.raises(WrongColumns, match="empty cells"):
        read_header(b',"",\n1,2,3\n', ",")


def test_a_range_ends_with_the_record_that_fills_it(tmp_path: Path) -> None:
    data = b'x,y\n1,2\n"3\n\n","4"\n5,6\n7,8'
    assert ranges(tmp_path, data, 5) == [Range(4, 18, 2), Range(18, 25, 6)]
    assert ranges(tmp_path, data, 4) == [Range(4, 8, 2), Range(8, 18, 3), Range(18, 22, 6), Range(22, 25, 7)]
    assert ranges(tmp_path, data, 1000) == [Range(4, 25, 2)]


def test_a_record_open_at_the_end_of_its_part_was_a_fault_in_the_whole() -> None:
    data = b'x,y\na,"b\nc,d\ne,f\n'
    expected = Reading([(3, ["c", "d"]), (4, ["e", "f"])], [(2, BROKEN)])
    assert read_whole(data) == expected
    assert read_in_parts(data, 1) == expected


def test_a_quote_open_for_more_than_16_mib_does_not_hide_what_follows() -> None:
    rows = b"c,d\n" * 1000
    data = b'x,y\na,"b\n' + b"z" * QUOTED_LIMIT + b",e\n" + rows
    whole = read_whole(data)
    assert (len(whole.records), whole.faults) == (1001, [(2, BROKEN)])
    assert read_in_parts(data, 2**20) == whole


def test_cell_of_exactly_16_mib_is_accepted() -> None:
    data = b'x,y\na,"' + b"z\n" * (QUOTED_LIMIT // 2) + b'"\nc,d\n'
    whole = read_whole(data)
    assert (len(whole.records), whole.faults) == (2, [])
    assert read_in_parts(data, 2**20) == whole


def test_lines_that_all_run_on_to_the_end_are_cut_in_linear_time(tmp_path: Path) -> None:
    found = ranges(tmp_path, b"x,y,z\n" + b'a","b\n' * 1_000_000, 2**20)
    assert len(found) == 6
    assert found[-1].end == 6_000_006


def test_a_record_too_long_for_any_part_fails_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cauce.scan.csv.cut.PART_LIMIT", 100)
    data = b"x,y\n1,2\n3," + b"4" * 200 + b"\n"
    with pytest.raises(JobFailed, match="line 3"):
        ranges(tmp_path, data, 4)
    with pytest.raises(JobFailed, match="line 2"):
        ranges(tmp_path, data, 5)
    with pytest.raises(JobFailed, match="line 2"):
        list(cut_stream(iter([data]), delimiter=",", part_bytes=5))


def test_a_stream_may_come_in_chunks_of_any_size() -> None:
    data = b'\xef\xbb\xbfx,y\r\n"1\r\n",""""\r\n3,4\r\n'
    expected = list(cut_stream(iter([data]), delimiter=",", part_bytes=1))
    assert len(expected) == 3
    for size in range(1, len(data)):
        chunks = [data[at : at + size] for at in range(0, len(data), size)]
        assert list(cut_stream(iter(chunks), delimiter=",", part_bytes=1)) == expected


@pytest.mark.parametrize("rounds", [60, pytest.param(200, marks=pytest.mark.slow)])
def test_any_split_gives_the_records_of_the_whole(rounds: int) -> None:
    rng = random.Random(rounds)
    for _ in range(rounds):
        data = b"x,y\n" + random_body(rng, 80)
        limit = rng.choice([QUOTED_LIMIT, 5, 70])
        whole = reference(data, limit=limit)
        for part_bytes in (1, 7, 64):
            window_bytes = rng.choice([3, 16, 100, 2**20])
            reading = read_in_parts(data, part_bytes, window_bytes=window_bytes, limit=limit)
            assert reading == whole, (data, part_bytes, window_bytes, limit)


@settings(max_examples=150)
@given(st.lists(st.sampled_from(RUNS), max_size=30), st.integers(1, 200), st.integers(3, 200))
def test_any_bytes_can_be_split_anywhere(tokens: list[bytes], part_bytes: int, window_bytes: int) -> None:
    data = b"x,y\n" + b"".join(tokens)
    assert read_in_parts(data, part_bytes, window_bytes=window_bytes) == reference(data)


@settings(max_examples=200)
@given(st.lists(st.sampled_from([*RUNS, b"\xef\xbb\xbf"]), max_size=8))
def test_any_header_is_read_as_the_reference_reads_it(tokens: list[bytes]) -> None:
    data = b"".join(tokens)
    try:
        named = any(read(data).header)
    except ValueError:
        named = False
    if named:
        assert list(read_header(data, ",").cells) == read(data).header
        assert read_whole(data) == reference(data)
    else:
        with pytest.raises(WrongColumns):
            read_header(data, ",")
