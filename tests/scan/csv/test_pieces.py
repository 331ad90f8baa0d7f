"""A part that is read in several pieces has the same columns and rejects as in one."""

from __future__ import annotations

import numpy as np
import pytest

from cauce.scan.block import Rows
from cauce.scan.cells.kinds import Date, Decimal, Identifier, Integer, Text
from cauce.scan.csv import pieces
from cauce.scan.csv.block import CsvBlock
from cauce.scan.csv.located import padded
from cauce.scan.tables import Column, TableSpec

COLUMNS = {
    "id": Column("id", Identifier()),
    "n": Column("n", Integer()),
    "price": Column("price", Decimal()),
    "day": Column("day", Date()),
    "name": Column("name", Text()),
}
LINES = [
    b"1,-5,2.50,2024-02-29,ann\n",
    b"2.0,,,,\n",
    b'3,"7","0.1",2023-01-01,"b ""o"" b"\n',
    b"x,8,1,2024-02-30,eve\n",
    b"4,9\n",
    b'5,"6,1,2024-01-01,"\n',
]


def block_of(data: bytes) -> CsvBlock:
    spec = TableSpec("t", ("t.csv",), COLUMNS, required=("n",))
    return CsvBlock(spec, "t.csv", tuple(COLUMNS), 2, padded(data), len(data), frozenset(COLUMNS))


def usable_of(block: CsvBlock, used: frozenset[str] = frozenset(COLUMNS)) -> Rows:
    rows = block.usable(used)
    assert rows is not None
    return rows


@pytest.mark.parametrize("piece_bytes", [1, 30, 333])
def test_pieces_have_the_columns_and_rejects_of_the_whole(monkeypatch: pytest.MonkeyPatch, piece_bytes: int) -> None:
    data = b"".join(LINES[i % 7 % len(LINES)] for i in range(400))
    whole = block_of(data)
    monkeypatch.setattr(pieces, "PIECE_BYTES", piece_bytes)
    monkeypatch.setattr(pieces, "MOST_PIECE_BYTES", piece_bytes)
    parts = block_of(data)
    assert parts.height == whole.height
    for name in COLUMNS:
        assert parts.column(name, None).equals(whole.column(name, None), null_equal=True)
        assert np.array_equal(parts.filled(name, None), whole.filled(name, None))  # type: ignore[arg-type]
    every = frozenset(COLUMNS)
    assert np.array_equal(usable_of(parts), usable_of(whole))
    assert parts.rejects(every).equals(whole.rejects(every))


def test_values_are_those_of_the_cells() -> None:
    block = block_of(LINES[0] + LINES[1] + LINES[2])
    assert block.column("id", None).to_list() == [1, 2, 3]
    assert block.column("n", None).to_list() == [-5, None, 7]
    assert [str(value) for value in block.column("day", None)] == ["2024-02-29", "None", "2023-01-01"]
    assert block.column("name", None).to_list() == ["ann", None, 'b "o" b']
    assert usable_of(block, frozenset()).tolist() == [0, 2]


def test_an_empty_part_has_its_columns() -> None:
    block = block_of(b"")
    assert [len(block.column(name, None)) for name in COLUMNS] == [0] * len(COLUMNS)


def test_short_texts_of_all_rows_are_built_again_in_the_next_part() -> None:
    data = b"1,2,3,2024-01-01,ann\n2,3,4,2024-01-02,\n"
    first, again = (block_of(data), block_of(data).column("name", None)), block_of(data)
    assert again.column("name", None).equals(first[1], null_equal=True)
    assert again.column("name", np.array([1, 0])).to_list() == [None, "ann"]
    filled = again.filled("name", None)
    assert filled is not None
    assert filled.tolist() == [True, False]


def test_a_text_that_is_not_short_is_read_where_others_were() -> None:
    block_of(b"1,2,3,2024-01-01,ann\n").column("name", None)
    long = block_of(b"1,2,3,2024-01-01,b\n1,2,3,2024-01-01,a name of more than twelve bytes\n")
    assert long.column("name", None).to_list() == ["b", "a name of more than twelve bytes"]
