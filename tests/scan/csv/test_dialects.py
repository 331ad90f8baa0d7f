"""Other quotes and files without a header: as the same text with the usual quote and a header."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest

from cauce.errors import WrongSplit
from cauce.scan.csv.block import CsvBlock
from cauce.scan.csv.cut import Header, begins_record, cut_ranges, cut_stream, read_header
from cauce.scan.csv.gather import gather_text
from cauce.scan.csv.guess import guess_ranges
from cauce.scan.csv.located import locate, padded
from cauce.scan.csv.lookup import TextSet
from cauce.scan.tables import Column, TableSpec
from tests.scan.scanning import mutated, random_body

SWAP = bytes.maketrans(b"\"'", b"'\"")


def rows_of(data: bytes, quote: str) -> tuple[list[tuple[str, ...]], list[int]]:
    found = locate(padded(data), len(data), delimiter=",", width=2, columns=[0, 1], quote=quote)
    buffer = padded(data)
    columns = [
        gather_text(buffer, found.start[at], found.length[at], found.escaped[at], quote=quote).fill_null("").to_list()
        for at in range(2)
    ]
    return list(zip(*columns, strict=True)), found.fault_cells.tolist()


@pytest.mark.parametrize("seed", range(200))
def test_single_quotes_are_read_as_double_ones(seed: int) -> None:
    rng = random.Random(seed)
    data = random_body(rng) if seed % 2 else mutated(rng, b'a,"b ""c"" , d"\n"x\ny",z\n' * rng.randrange(1, 5))
    rows, faults = rows_of(data, '"')
    swapped = data.translate(SWAP)
    others, other_faults = rows_of(swapped, "'")
    table = str.maketrans("\"'", "'\"")
    assert [tuple(cell.translate(table) for cell in row) for row in others] == rows
    assert other_faults == faults


@pytest.mark.parametrize("seed", range(50))
@pytest.mark.parametrize("named", [False, True])
def test_files_are_cut_at_the_same_places(tmp_path: Path, seed: int, named: bool) -> None:
    rng = random.Random(seed)
    path, other = tmp_path / "a.csv", tmp_path / "b.csv"
    data = b"x,y\n" + random_body(rng, 200)
    path.write_bytes(data)
    other.write_bytes(data.translate(SWAP))
    cut = list(cut_ranges(path, delimiter=",", part_bytes=20, named=named))
    assert list(cut_ranges(other, delimiter=",", part_bytes=20, quote="'", named=named)) == cut
    first, *streamed = cut_stream(iter([data.translate(SWAP)]), delimiter=",", part_bytes=20, quote="'", named=named)
    assert isinstance(first, Header)
    assert [(each.start, each.end, each.first_line) for each in streamed] == [  # type: ignore[union-attr]
        (each.start, each.end, each.first_line) for each in cut
    ]
    ends = [each.end for each in cut]
    assert begins_record(other, delimiter=",", places=ends, quote="'", named=named)


def test_guessed_boundaries_are_the_same(tmp_path: Path) -> None:
    rows = b"".join(b'%d,"text ""%d"" of\nlines, and more"\n' % (n, n) for n in range(3000))
    (tmp_path / "a.csv").write_bytes(b"x,y\n" + rows)
    (tmp_path / "b.csv").write_bytes(b"x,y\n" + rows.translate(SWAP))
    header = read_header(tmp_path / "a.csv", ",")
    wanted = list(guess_ranges(str(tmp_path / "a.csv"), header, delimiter=",", part_bytes=10_000))
    found = list(guess_ranges(str(tmp_path / "b.csv"), header, delimiter=",", part_bytes=10_000, quote="'"))
    assert found == wanted
    assert len(wanted) > 5
    with pytest.raises(WrongSplit):
        list(guess_ranges(str(tmp_path / "b.csv"), header, delimiter=";", part_bytes=10_000, quote="'"))


def test_without_a_quote_every_delimiter_separates() -> None:
    assert rows_of(b'"a,b"\n\'c\',"\n', "") == ([('"a', 'b"'), ("'c'", '"')], [])


def test_columns_of_a_file_without_a_header_are_numbered() -> None:
    assert read_header(b"\xef\xbb\xbf1,2,3\n4,5,6\n", ",", named=False) == Header(
        ("column0", "column1", "column2"), 3, 0
    )
    assert read_header(b"\n\n1;2\n", ";", named=False) == Header(("column0", "column1"), 2, 2)


def block_of(data: bytes, **options: object) -> CsvBlock:
    columns = {"x": Column("x", nulls=("NA", "-")), "y": Column("y"), "z": Column("z")}
    spec = TableSpec("t", (), columns, quote="'", missing_is_null=True, **options)  # type: ignore[arg-type]
    return CsvBlock(spec, "t", ("x", "y"), 1, padded(data), len(data), frozenset(columns))


DATA = b"NA,'it''s'\n'-',b\n\\N,NA\n,c\nx,d\n"


def test_texts_for_null_belong_to_their_column() -> None:
    block = block_of(DATA, null="\\N")
    assert block.column("x", None).to_list() == [None, None, None, None, "x"]
    assert block.column("y", None).to_list() == ["it's", "b", "NA", "c", "d"]
    filled = block.filled("x", None)
    assert filled is not None
    assert filled.tolist() == [False, False, False, False, True]


def test_a_column_that_the_file_lacks_is_null() -> None:
    block = block_of(DATA)
    assert block.column("z", None).to_list() == [None] * 5
    assert block.find("z", TextSet(pl.Series(["x"])), None).tolist() == [0] * 5
    assert block.rejects(frozenset(["x", "y", "z"])).is_empty()


def test_texts_in_single_quotes_are_found_in_a_set() -> None:
    texts = TextSet(pl.Series(["it's", "NA", "x"]))
    assert block_of(DATA).find("y", texts, None).tolist() == [1, 0, 2, 0, 0]
    assert block_of(DATA).find("x", texts, None).tolist() == [0, 0, 0, 0, 3]


def test_a_required_column_that_the_file_lacks_excludes_its_rows() -> None:
    usable = block_of(DATA, required=("z",)).usable(frozenset(["y"]))
    assert usable is not None
    assert len(usable) == 0
