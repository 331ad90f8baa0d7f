"""Where a table's rows are: files, encodings, parts, and what is said when something is missing."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from cauce.errors import DataNotFound, JobFailed, WrongColumns
from cauce.scan.kinds import Decimal, Integer, Text
from cauce.scan.parts import TableFile, check_columns, check_folder, find_files, parts_of
from cauce.scan.tables import Column, TableSpec

COLUMNS = {"id": Column("Id", Integer()), "name": Column("Name", Text()), "price": Column("Price", Decimal())}
ALL = frozenset(COLUMNS)
TEXT = 'Id,Name,Price\n1,"a, b",1.50\n2,,\nx,c,3\n4,"two\nlines",4\n'
ROWS = [(1, "a, b", "1.5"), (2, None, None), (None, "c", "3"), (4, "two\nlines", "4")]


def spec(*files: str, **rules: object) -> TableSpec:
    return TableSpec("t", files or ("t.csv",), COLUMNS, **rules)  # type: ignore[arg-type]


def write(path: Path, text: str = TEXT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def write_gz(path: Path) -> Path:
    path.write_bytes(gzip.compress(TEXT.encode()))
    return path


def write_zst(path: Path) -> Path:
    with pa.CompressedOutputStream(str(path), "zstd") as out:
        out.write(TEXT.encode())
    return path


def write_parquet(path: Path) -> Path:
    frame = pl.DataFrame(
        {"Id": ["1", "2", "x", "4"], "Name": ["a, b", None, "c", "two\nlines"], "Price": ["1.50", None, "3", "4"]}
    )
    frame.write_parquet(path, row_group_size=2)
    return path


def buffer(size: int) -> np.ndarray:
    return np.full(size, 255, np.uint8)


def rows_of(data: Path, table: TableSpec, part_bytes: int = 2**20) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for part in parts_of(find_files(data, table), table, part_bytes):
        block = part.read(table, ALL, buffer)
        columns = [block.column(name, None) for name in COLUMNS]
        columns[2] = columns[2].map_elements(lambda value: f"{value.normalize():f}", return_dtype=pl.String)
        found += zip(*(column.to_list() for column in columns), strict=True)
    return found


def names(data: Path, *patterns: str) -> list[str]:
    return [file.name for file in find_files(data, spec(*patterns))]


WRITERS: dict[str, Callable[[Path], Path]] = {
    ".csv": write,
    ".csv.gz": write_gz,
    ".csv.zst": write_zst,
    ".parquet": write_parquet,
}


@pytest.mark.parametrize("part_bytes", [1, 30, 2**20])
@pytest.mark.parametrize("encoding", WRITERS)
def test_every_encoding_gives_the_same_rows(tmp_path: Path, encoding: str, part_bytes: int) -> None:
    WRITERS[encoding](tmp_path / f"t{encoding}")
    assert rows_of(tmp_path, spec(), part_bytes) == ROWS


@pytest.mark.parametrize("encoding", WRITERS)
def test_every_encoding_names_the_same_reject(tmp_path: Path, encoding: str) -> None:
    WRITERS[encoding](tmp_path / f"t{encoding}")
    found = [part.read(spec(), ALL, buffer).rejects(ALL) for part in parts_of(find_files(tmp_path, spec()), spec(), 1)]
    assert pl.concat(found).rows() == [(f"t{encoding}", 4, "Id", "not an integer", "x")]


def test_a_part_can_be_read_without_any_column(tmp_path: Path) -> None:
    for encoding, writer in WRITERS.items():
        file = writer(tmp_path / f"t{encoding}")
        parts = parts_of(find_files(tmp_path, spec()), spec())
        assert sum(part.read(spec(), frozenset(), buffer).height for part in parts) == 4
        file.unlink()


# Finding files.


def test_the_first_alternative_that_is_there_counts(tmp_path: Path) -> None:
    write(tmp_path / "small.csv")
    assert names(tmp_path, "big.csv", "small.csv") == ["small.csv"]
    write(tmp_path / "big.csv")
    assert names(tmp_path, "big.csv", "small.csv") == ["big.csv"]


def test_files_of_a_pattern_come_in_name_order(tmp_path: Path) -> None:
    for month in ("202402", "202312", "202401"):
        write(tmp_path / "sales" / f"sales_{month}.csv")
    assert names(tmp_path, "sales/sales_*.csv") == [
        "sales/sales_202312.csv",
        "sales/sales_202401.csv",
        "sales/sales_202402.csv",
    ]


def test_files_of_a_folder_may_lie_in_the_root(tmp_path: Path) -> None:
    write(tmp_path / "sales_1.csv")
    write(tmp_path / "sales" / "sales_2.csv")
    assert names(tmp_path, "sales/sales_*.csv") == ["sales_1.csv", "sales/sales_2.csv"]


def test_a_file_both_in_its_folder_and_in_the_root_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "sales_1.csv")
    write(tmp_path / "sales" / "sales_1.csv")
    with pytest.raises(DataNotFound, match=r"sales_1\.csv and .*sales_1\.csv are the same file twice"):
        names(tmp_path, "sales/sales_*.csv")


def test_a_file_in_two_encodings_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "t.csv")
    write_gz(tmp_path / "t.csv.gz")
    with pytest.raises(DataNotFound, match="the same file twice"):
        names(tmp_path)


def test_a_missing_file_is_named_with_what_is_there(tmp_path: Path) -> None:
    write(tmp_path / "other.csv")
    with pytest.raises(DataNotFound, match=r"table t needs a\.csv or b\.csv .* which holds other\.csv"):
        names(tmp_path, "a.csv", "b.csv")


def test_an_empty_folder_holds_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataNotFound, match="which holds nothing"):
        names(tmp_path)


def test_a_folder_with_the_name_of_a_file_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(DataNotFound):
        names(tmp_path)


# Checking columns.


def check(data: Path, columns: frozenset[str] = ALL, **rules: object) -> None:
    table = spec(**rules)
    for file in find_files(data, table):
        check_columns(file, table, columns)


@pytest.mark.parametrize("encoding", WRITERS)
def test_a_file_with_every_column_passes(tmp_path: Path, encoding: str) -> None:
    WRITERS[encoding](tmp_path / f"t{encoding}")
    check(tmp_path)


def test_missing_columns_are_named_with_those_there_are(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", "Id,name\n")
    with pytest.raises(
        WrongColumns,
        match=r"t\.csv lacks Name, Price; its header has Id, name; .*; did you mean name\?$",
    ):
        check(tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"PK\x03\x04\x14\x00\x06\x00", b"\x1f\x8b\x08\x00\x00\x00", b"\xff\xfeI\x00d\x00\n\x00", b"PAR1\x15\x04\x15"],
    ids=["zip", "gzip", "utf-16", "parquet"],
)
def test_a_file_that_is_not_text_is_named_so_and_its_bytes_are_not_shown(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(WrongColumns, match=r"^t\.csv is not a text file.*save it as CSV in UTF-8") as raised:
        check(tmp_path)
    assert str(raised.value).isprintable()


def test_a_file_one_folder_below_is_pointed_at(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    write(tmp_path / "below/t.csv")
    with pytest.raises(DataNotFound, match=f"name the directory {tmp_path}/below$"):
        check(tmp_path)


def test_a_folder_is_checked_before_it_is_searched(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "file").touch()
    check_folder(tmp_path / "data", "the files")
    with pytest.raises(DataNotFound, match=r"dat does not exist; name the directory that holds .*did you mean data\?"):
        check_folder(tmp_path / "dat", "the files")
    with pytest.raises(DataNotFound, match="file is a file, not a directory"):
        check_folder(tmp_path / "file", "the files")


def test_a_column_that_no_query_uses_may_be_missing(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", "Id\n")
    check(tmp_path, frozenset({"id"}))


def test_a_required_column_may_not_be_missing(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", "Id\n")
    with pytest.raises(WrongColumns, match="lacks Name"):
        check(tmp_path, frozenset({"id"}), required=("name",))


def test_a_header_of_one_cell_hints_at_the_delimiter(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", "Id;Name;Price\n")
    with pytest.raises(WrongColumns, match=r"read with delimiter ','"):
        check(tmp_path)


def test_a_needed_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", "Id,Name,Name,Price\n")
    with pytest.raises(WrongColumns, match="more than one column Name"):
        check(tmp_path)


@pytest.mark.parametrize("text", ["", "\ufeff", "\n\n"])
def test_an_empty_file_is_refused(tmp_path: Path, text: str) -> None:
    write(tmp_path / "t.csv", text)
    with pytest.raises(WrongColumns, match=r"t\.csv is empty"):
        check(tmp_path)


def test_an_empty_compressed_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b""))
    with pytest.raises(WrongColumns, match=r"t\.csv\.gz is empty"):
        check(tmp_path)


def test_a_file_that_is_no_parquet_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"no parquet")
    with pytest.raises(WrongColumns, match=r"t\.parquet cannot be read as Parquet"):
        check(tmp_path)


@pytest.mark.parametrize("encoding", [".csv.gz", ".csv.zst"])
def test_a_file_that_is_not_compressed_is_refused_by_name(tmp_path: Path, encoding: str) -> None:
    (tmp_path / f"t{encoding}").write_bytes(TEXT.encode())
    with pytest.raises(JobFailed, match=rf"t{encoding} cannot be decompressed"):
        check(tmp_path)


# Reading parts.


@pytest.mark.parametrize("encoding", [".csv.gz", ".csv.zst"])
@pytest.mark.parametrize("harm", ["cut", "changed"])
def test_a_damaged_compressed_file_fails_by_name(tmp_path: Path, encoding: str, harm: str) -> None:
    rng = np.random.default_rng(0)
    body = "".join(f"{n},name {n},{n}\n" for n in rng.integers(0, 10**9, 200_000))
    path = tmp_path / f"t{encoding}"
    text = ("Id,Name,Price\n" + body).encode()
    if encoding == ".csv.gz":
        path.write_bytes(gzip.compress(text, 1))
    else:
        with pa.CompressedOutputStream(str(path), "zstd") as out:
            out.write(text)
    whole = bytearray(path.read_bytes())
    if harm == "cut":
        del whole[len(whole) // 2 :]
    else:
        whole[len(whole) // 2 : len(whole) // 2 + 64] = bytes(64)
    path.write_bytes(whole)
    with pytest.raises(JobFailed, match=rf"t{encoding} cannot be decompressed"):
        list(parts_of(find_files(tmp_path, spec()), spec()))


def test_a_file_that_shrinks_while_it_is_read_fails_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv")
    (part,) = parts_of(find_files(tmp_path, spec()), spec())
    path.write_bytes(TEXT.encode()[:20])
    with pytest.raises(JobFailed, match=r"t\.csv became shorter while it was read"):
        part.read(spec(), ALL, buffer)


def test_parts_are_numbered_along_the_files(tmp_path: Path) -> None:
    write(tmp_path / "t_1.csv", "Id,Name,Price\n1,a,\n2,b,\n")
    write(tmp_path / "t_2.csv", "Id,Name,Price\n3,c,\n")
    parts = list(parts_of(find_files(tmp_path, spec("t_*.csv")), spec("t_*.csv"), part_bytes=1))
    assert [(part.seq, part.file.name, part.first_line) for part in parts] == [
        (0, "t_1.csv", 2),
        (1, "t_1.csv", 3),
        (2, "t_2.csv", 2),
    ]


@pytest.mark.parametrize("encoding", WRITERS)
def test_a_file_without_rows_is_one_part_without_rows(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / f"t{encoding}"
    header = b"Id,Name,Price\n"
    if encoding == ".parquet":
        pl.DataFrame(schema={"Id": pl.Int64, "Name": pl.String, "Price": pl.Int64}).write_parquet(path)
    elif encoding == ".csv.gz":
        path.write_bytes(gzip.compress(header))
    elif encoding == ".csv.zst":
        with pa.CompressedOutputStream(str(path), "zstd") as out:
            out.write(header)
    else:
        path.write_bytes(header)
    (part,) = parts_of(find_files(tmp_path, spec()), spec())
    assert part.read(spec(), ALL, buffer).height == 0


def test_the_parts_of_a_file_account_for_its_bytes(tmp_path: Path) -> None:
    write(tmp_path / "t.csv")
    parts = list(parts_of(find_files(tmp_path, spec()), spec(), part_bytes=1))
    assert sum(part.weight for part in parts) == len(TEXT)


def test_a_file_is_known_by_its_longest_ending() -> None:
    assert TableFile("t.csv.gz", "/data/t.csv.gz", 0).encoding == ".csv.gz"
