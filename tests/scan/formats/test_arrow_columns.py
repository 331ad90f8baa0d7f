"""Every Arrow type with every declared kind: a cell is a value or a reject, and null stays null."""

from __future__ import annotations

import io
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cauce.scan.block import Block
from cauce.scan.cells import kinds
from cauce.scan.formats.columnar_validation import check_arrow, check_parquet
from cauce.scan.formats.upload_check import Bounds
from cauce.scan.parts import Part, TableFile
from cauce.scan.reader import read_part
from cauce.scan.tables import Column, TableSpec

FAR = 2**62


def counted(kind: pa.DataType, *counts: int | None) -> pa.Array:
    return pa.array(counts, pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)


ARRAYS = {
    "list": pa.array([["a"], None, []], pa.list_(pa.string())),
    "large list": pa.array([["a"], None], pa.large_list(pa.string())),
    "fixed list": pa.array([["a", "b"], None], pa.list_(pa.string(), 2)),
    "list of numbers": pa.array([[1], None], pa.list_(pa.int64())),
    "list of lists": pa.array([[["a"]], None], pa.list_(pa.list_(pa.string()))),
    "struct": pa.array([{"a": 1}, None], pa.struct([("a", pa.int64())])),
    "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
    "small decimal256": pa.array([Decimal("1.5"), None], pa.decimal256(60, 2)),
    "large decimal256": pa.array([Decimal(10) ** 50, None], pa.decimal256(60, 2)),
    "list of decimal256": pa.array([[Decimal(1)], None], pa.list_(pa.decimal256(60, 0))),
    "decimal128": pa.array([Decimal("1.5"), None], pa.decimal128(38, 20)),
    "decimal of hundreds": pa.array([Decimal("100"), None], pa.decimal128(5, -2)),
    "date32": counted(pa.date32(), 2**30, None, -(2**30), 1),
    "date64": counted(pa.date64(), 86_400_000 * 4_000_000, None, 0),
    "farthest date64": counted(pa.date64(), 2**63 - 1, None, -(2**63)),
    "struct of dates": pa.StructArray.from_arrays([counted(pa.date32(), 2**30)], ["a"]),
    "seconds": counted(pa.timestamp("s"), FAR, None, -FAR, 0),
    "milliseconds": counted(pa.timestamp("ms"), FAR, None, -FAR, 0),
    "microseconds": counted(pa.timestamp("us"), FAR, None, -FAR, 0),
    "nanoseconds": counted(pa.timestamp("ns"), FAR, None, -FAR, 0),
    "zoned": counted(pa.timestamp("us", "Europe/Paris"), FAR, None, -FAR, 0),
    "of an unknown zone": counted(pa.timestamp("us", "Nowhere/X"), 0, None),
    "with an offset": counted(pa.timestamp("us", "+02:00"), 0, None),
    "time": counted(pa.time64("us"), 1, None),
    "time32 beyond a day": counted(pa.time32("ms"), 2**31 - 1, None, -1),
    "time64 beyond a day": counted(pa.time64("ns"), FAR, None, -5),
    "duration": counted(pa.duration("us"), FAR, None, 60_000_000, -1),
    "duration in seconds": counted(pa.duration("s"), FAR, None, 60),
    "interval": pa.array([(1, 2, 3), None], pa.month_day_nano_interval()),
    "binary": pa.array([b"\xff", None, b"a"], pa.binary()),
    "large binary": pa.array([b"\xff", None], pa.large_binary()),
    "fixed binary": pa.array([b"\xff\xfe", None], pa.binary(2)),
    "binary view": pa.array([b"\xff", None], pa.binary_view()),
    "string view": pa.array(["a", None], pa.string_view()),
    "dictionary": pa.array(["a", None, "a"]).dictionary_encode(),
    "dictionary of numbers": pa.array([1, None, 1]).dictionary_encode(),
    "dictionary of bytes": pa.array([b"\xff", None]).dictionary_encode(),
    "dictionary of dates": pa.array([date(2020, 1, 1), None]).dictionary_encode(),
    "null": pa.nulls(2),
    "half float": pa.array([np.float16(1.5), None], pa.float16()),
    "float": pa.array([1.5, None, float("nan")], pa.float32()),
    "unsigned": pa.array([2**64 - 1, None], pa.uint64()),
    "boolean": pa.array([True, None]),
    "list view": pa.array([["a"], None], pa.list_view(pa.string())),
    "union": pa.UnionArray.from_dense(
        pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([1]), pa.array(["x"])]
    ),
}
KINDS: tuple[kinds.Kind, ...] = (
    kinds.Text(),
    kinds.Integer(),
    kinds.Identifier(),
    kinds.Decimal(),
    kinds.Fixed(2),
    kinds.Float(),
    kinds.Boolean(),
    kinds.Date(),
    kinds.Date("%d.%m.%Y"),
    kinds.Timestamp(),
    kinds.ZonedTimestamp(),
    kinds.ZonedTimestamp("Europe/Paris"),
    kinds.Duration(),
    kinds.TextList(),
    kinds.FieldList("a"),
    kinds.Json(),
)
BOUNDS = Bounds(1 << 30, 1_000_000)


def block_of(array: pa.Array, kind: kinds.Kind, form: str, folder: Path) -> Block | None:
    """The array as a column of a file or of an uploaded part; None if validation rejects the part."""
    table, path = pa.table({"x": array}), folder / "t.parquet"
    spec = TableSpec("t", ("t.csv",), {"x": Column("x", kind)}, ())
    file = TableFile("t.parquet", str(path), 10)
    held = io.BytesIO()
    try:
        if form == "arrow":
            with pa.ipc.new_stream(held, table.schema) as stream:
                stream.write_table(table)
            check_arrow(held.getvalue(), ["x"], BOUNDS)
        else:
            pq.write_table(table, path)
            held.write(path.read_bytes())
            if form == "parquet":
                check_parquet(held.getvalue(), ["x"], BOUNDS)
    except (ValueError, OSError, pa.ArrowException):
        return None
    part = Part(0, file, (), 2, 0, len(array), form="parquet")
    if form != "file":
        part = Part(0, file, ("x",), 2, 0, 10, data=held.getvalue(), form=form)
    return read_part(part, spec, frozenset(["x"]), lambda size: np.empty(size, np.uint8))


@pytest.mark.parametrize("form", ["file", "arrow", "parquet"])
@pytest.mark.parametrize("name", ARRAYS)
def test_a_cell_is_a_value_or_a_reject(name: str, form: str, tmp_path: Path) -> None:
    array = ARRAYS[name]
    for kind in KINDS:
        block = block_of(array, kind, form, tmp_path)
        if block is None:
            continue
        rejects = block.rejects(frozenset(["x"]))
        rejected = {line - 2 for line in rejects["line"]}
        values = block.column("x", None)
        nulls = {row for row in range(len(array)) if not array[row].is_valid}
        assert {row for row in range(len(array)) if values[row] is None} == nulls | rejected, kind
        assert not nulls & rejected, kind
        usable = block.usable(frozenset(["x"]))
        assert set(range(len(array)) if usable is None else usable.tolist()) == set(range(len(array))) - rejected


@pytest.mark.parametrize("name", ["list", "large list", "fixed list", "struct", "map"])
def test_a_nested_value_declared_as_text_is_a_reject(name: str, tmp_path: Path) -> None:
    block = block_of(ARRAYS[name], kinds.Text(), "file", tmp_path)
    assert block is not None
    first = block.rejects(frozenset(["x"])).row(0, named=True)
    assert (first["file"], first["line"], first["column"], first["reason"]) == ("t.parquet", 2, "x", "not text")


def test_a_date_beyond_the_year_9999_is_a_reject_of_its_line(tmp_path: Path) -> None:
    block = block_of(ARRAYS["date32"], kinds.Date(), "file", tmp_path)
    assert block is not None
    assert block.rejects(frozenset(["x"]))["line"].to_list() == [2, 4]
    assert block.column("x", None).to_list() == [None, None, None, date(1970, 1, 2)]


def test_a_wide_decimal_is_read_if_it_fits_the_kind(tmp_path: Path) -> None:
    small = block_of(ARRAYS["small decimal256"], kinds.Decimal(), "file", tmp_path)
    large = block_of(ARRAYS["large decimal256"], kinds.Decimal(), "file", tmp_path)
    assert small is not None
    assert large is not None
    assert small.column("x", None).to_list() == [Decimal("1.5"), None]
    assert large.rejects(frozenset(["x"]))["reason"].to_list() == ["not a number"]


def test_seconds_that_would_overflow_are_rejects(tmp_path: Path) -> None:
    block = block_of(ARRAYS["seconds"], kinds.Timestamp(), "arrow", tmp_path)
    assert block is not None
    assert block.rejects(frozenset(["x"]))["line"].to_list() == [2, 4]
    assert block.column("x", None).dtype == pl.Datetime("us")
