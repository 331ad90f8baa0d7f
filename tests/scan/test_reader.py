"""Parts of the files of a table, and the blocks that are read from them."""

from __future__ import annotations

import errno
import gzip
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from cauce.errors import JobFailed
from cauce.scan.discovery import find_files
from cauce.scan.parts import PART_BYTES, FileState, Part, TableFile
from cauce.scan.reader import MOST_PART_BYTES, part_bytes_for, parts_of, read_part
from cauce.scan.tables import TableSpec
from cauce.worker.set_aside import is_transient
from tests.scan.table_forms import (
    ALL,
    COLUMNS,
    ROWS,
    TEXT,
    WRITERS,
    buffer,
    spec,
    write,
)


def rows_of(data: Path, table: TableSpec, part_bytes: int = 2**20) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for part in parts_of(find_files(data, table), table, part_bytes):
        block = read_part(part, table, ALL, buffer)
        columns = [block.column(name, None) for name in COLUMNS]
        columns[2] = columns[2].map_elements(lambda value: f"{value.normalize():f}", return_dtype=pl.String)
        found += zip(*(column.to_list() for column in columns), strict=True)
    return found


@pytest.mark.parametrize(
    ("total", "workers", "most", "expected"),
    [
        (10**6, 2, None, PART_BYTES),
        (32 * PART_BYTES, 2, None, 2 * PART_BYTES),
        (16 * MOST_PART_BYTES, 2, None, MOST_PART_BYTES),
        # In 17 parts of the largest size, one of four lanes would have five of them.
        (17 * MOST_PART_BYTES, 2, None, -(-17 * MOST_PART_BYTES // 20)),
        (17 * MOST_PART_BYTES, 2, MOST_PART_BYTES // 2, -(-17 * MOST_PART_BYTES // 36)),
        (10**6, 2, 1000, 1000),
    ],
)
def test_all_lanes_get_equally_many_parts_of_a_large_table(
    total: int, workers: int, most: int | None, expected: int
) -> None:
    files = [TableFile("a", "a", total - 7), TableFile("b", "b", 7)]
    assert part_bytes_for(files, workers, most) == expected


@pytest.mark.parametrize("part_bytes", [1, 30, 2**20])
@pytest.mark.parametrize("encoding", WRITERS)
def test_every_encoding_gives_the_same_rows(tmp_path: Path, encoding: str, part_bytes: int) -> None:
    WRITERS[encoding](tmp_path / f"t{encoding}")
    assert rows_of(tmp_path, spec(), part_bytes) == ROWS


@pytest.mark.parametrize("encoding", WRITERS)
def test_every_encoding_names_the_same_reject(tmp_path: Path, encoding: str) -> None:
    WRITERS[encoding](tmp_path / f"t{encoding}")
    found = [
        read_part(part, spec(), ALL, buffer).rejects(ALL) for part in parts_of(find_files(tmp_path, spec()), spec(), 1)
    ]
    assert pl.concat(found).rows() == [(f"t{encoding}", 4, "Id", "not an integer", "x")]


def test_a_part_can_be_read_without_any_column(tmp_path: Path) -> None:
    for encoding, writer in WRITERS.items():
        file = writer(tmp_path / f"t{encoding}")
        parts = parts_of(find_files(tmp_path, spec()), spec())
        assert sum(read_part(part, spec(), frozenset(), buffer).height for part in parts) == 4
        file.unlink()


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
        read_part(part, spec(), ALL, buffer)


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
    elif encoding in (".ndjson", ".jsonl"):
        path.write_bytes(b"")
    elif encoding == ".csv.zst":
        with pa.CompressedOutputStream(str(path), "zstd") as out:
            out.write(header)
    else:
        path.write_bytes(header.replace(b",", b"\t") if encoding == ".tsv" else header)
    (part,) = parts_of(find_files(tmp_path, spec()), spec())
    assert read_part(part, spec(), ALL, buffer).height == 0


def test_the_parts_of_a_file_account_for_its_bytes(tmp_path: Path) -> None:
    write(tmp_path / "t.csv")
    parts = list(parts_of(find_files(tmp_path, spec()), spec(), part_bytes=1))
    assert sum(part.weight for part in parts) == len(TEXT)


@pytest.fixture
def referred(tmp_path: Path) -> Part:
    """A part of a file with a recorded state."""
    path = write(Path(os.path.realpath(tmp_path)) / "inner" / "t.csv")
    found = path.stat()
    file = TableFile("t.csv", str(path), found.st_size, FileState.of(found))
    return replace(next(parts_of([file], spec())), file=file)


def test_a_file_with_a_recorded_state_is_read(referred: Part) -> None:
    assert read_part(referred, spec(), ALL, buffer).height == len(ROWS)


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.EIO, errno.ENOMEM, errno.ESTALE])
def test_an_error_that_is_not_the_files_own_can_be_retried(
    referred: Part, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fail(path: str) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("cauce.scan.files.file_bytes.open_nofollow", fail)
    with pytest.raises(OSError, match=os.strerror(number)) as raised:
        read_part(referred, spec(), ALL, buffer)
    assert is_transient(raised.value)


def test_a_folder_that_became_a_link_is_not_followed(referred: Part) -> None:
    """Even if it leads to the same file."""
    folder = Path(referred.file.path).parent
    folder.rename(folder.with_name("moved"))
    folder.symlink_to(folder.with_name("moved"))
    with pytest.raises(JobFailed, match=r"t\.csv cannot be read any more"):
        read_part(referred, spec(), ALL, buffer)
