"""The result of ``locate``, and the arguments that it rejects."""

from __future__ import annotations

import numpy as np
import pytest

from cauce.scan.csv.located import line_of, locate, padded


def test_columns_have_the_requested_order() -> None:
    found = locate(padded(b"aa,b,cccc\n"), 10, delimiter=",", width=3, columns=[2, 0])
    assert found.start.tolist() == [[5], [0]]
    assert found.length.tolist() == [[4], [2]]


def test_offsets_leave_outer_quotes_out_and_mark_doubled_ones() -> None:
    data = b'"a","b""c"\nd,"e"\n'
    found = locate(padded(data), len(data), delimiter=",", width=2, columns=[0, 1])
    assert found.record_start.tolist() == [0, 11]
    assert found.start.tolist() == [[1, 11], [5, 14]]
    assert found.length.tolist() == [[1, 1], [4, 1]]
    assert found.escaped.tolist() == [[0, 0], [1, 0]]


def test_each_column_is_contiguous() -> None:
    found = locate(padded(b"a,b\n" * 5000), 20_000, delimiter=",", width=2, columns=[0, 1])
    for column in (*found.start, *found.length, *found.escaped):
        assert column.flags.c_contiguous


def test_records_can_be_counted_without_columns() -> None:
    found = locate(padded(b"a,b\nc\n"), 6, delimiter=",", width=2, columns=[])
    assert (found.rows, found.fault_offset.tolist(), found.fault_cells.tolist()) == (1, [4], [1])


def test_nothing_is_lost_if_rows_and_faults_outgrow_their_arrays() -> None:
    lines = [b"a,b\n", b"c\n", b'"d"e\n', b"f,%s\n" % (b"g" * 900)]
    data = b"".join(lines[i % 7 % 4] for i in range(50_000))
    found = locate(padded(data), len(data), delimiter=",", width=2, columns=[1])
    kinds = np.arange(50_000) % 7 % 4
    sizes = np.array([len(line) for line in lines])[kinds]
    starts = np.cumsum(sizes) - sizes
    good = np.isin(kinds, [0, 3])
    assert np.array_equal(found.record_start, starts[good])
    assert np.array_equal(found.start[0], starts[good] + 2)
    assert np.array_equal(found.length[0], np.where(kinds == 0, 1, 900)[good])
    assert np.array_equal(found.fault_offset, starts[~good])
    assert np.array_equal(found.fault_cells, np.where(kinds == 1, 1, -1)[~good])


def test_a_part_can_be_empty() -> None:
    assert locate(padded(b""), 0, delimiter=",", width=2, columns=[0]).rows == 0


def test_a_read_only_buffer_is_accepted() -> None:
    buffer = padded(b"a,b\n")
    buffer.flags.writeable = False
    assert locate(buffer, 4, delimiter=",", width=2, columns=[0]).rows == 1


def test_a_buffer_without_spare_bytes_is_rejected() -> None:
    with pytest.raises(ValueError, match="64 spare"):
        locate(np.zeros(100, np.uint8), 50, delimiter=",", width=2, columns=[0])


@pytest.mark.parametrize("columns", [[0, 0], [2], [-1]])
def test_missing_or_duplicate_columns_are_rejected(columns: list[int]) -> None:
    with pytest.raises(ValueError, match="columns must differ"):
        locate(padded(b"a,b\n"), 4, delimiter=",", width=2, columns=columns)


@pytest.mark.parametrize("delimiter", ["", ",,", '"', "\n", "\r", "é"])
def test_a_delimiter_that_cannot_separate_cells_is_rejected(delimiter: str) -> None:
    with pytest.raises(ValueError, match="delimiter"):
        locate(padded(b"a,b\n"), 4, delimiter=delimiter, width=2, columns=[0])


def test_lines_are_counted_from_the_first_of_the_part_in_any_order() -> None:
    data = b"a\n\nb" + b"x" * 100 + b"\nc\n"
    offsets = np.array([len(data) - 2, 0, 3, 2, len(data)])
    assert line_of(padded(data), offsets, 10).tolist() == [13, 10, 12, 11, 14]
    assert line_of(padded(data), np.array([], np.int64), 10).tolist() == []
