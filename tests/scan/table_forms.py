"""A small table in every format, with a cell that is a reject."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa

from cauce.scan.cells.kinds import Decimal, Integer, Text
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


def write_tsv(path: Path) -> Path:
    return write(path, 'Id\tName\tPrice\n1\t"a, b"\t1.50\n2\t\t\nx\tc\t3\n4\t"two\nlines"\t4\n')


def write_ndjson(path: Path) -> Path:
    """The first line is blank, so that the rows have the same lines as in CSV."""
    return write(
        path,
        '\n{"Id":1,"Name":"a, b","Price":1.50}\n{"Id":"2","Name":null}\n{"Id":"x","Name":"c","Price":3}\n'
        '{"Name":"two\\nlines","Id":4,"Price":"4"}\n',
    )


def write_parquet(path: Path) -> Path:
    frame = pl.DataFrame(
        {"Id": ["1", "2", "x", "4"], "Name": ["a, b", None, "c", "two\nlines"], "Price": ["1.50", None, "3", "4"]}
    )
    frame.write_parquet(path, row_group_size=2)
    return path


def buffer(size: int) -> np.ndarray:
    return np.full(size, 255, np.uint8)


WRITERS: dict[str, Callable[[Path], Path]] = {
    ".csv": write,
    ".csv.gz": write_gz,
    ".csv.zst": write_zst,
    ".tsv": write_tsv,
    ".ndjson": write_ndjson,
    ".jsonl": write_ndjson,
    ".parquet": write_parquet,
}
