"""Inferred schemas: types of generated files, dialects, many files, and agreement with DuckDB's sniffer."""

from __future__ import annotations

import csv
import datetime as dt
import decimal
import gzip
import io
import json
import random
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cauce.errors import WrongColumns
from cauce.schema import Inferred, TableSchema, find_tables, infer
from cauce.schema.infer import MixedColumn

RNG = random.Random(5)
MAKERS: dict[str, Callable[[random.Random], str]] = {
    "integer": lambda rng: str(rng.randrange(-(10**12), 10**12)),
    "decimal(18,2)": lambda rng: f"{rng.randrange(10**6) / 100:.2f}",
    "decimal": lambda rng: f"{rng.random():.12f}",
    "float": lambda rng: f"{rng.uniform(-1, 1) * 10 ** rng.randrange(-20, 20):e}",
    "boolean": lambda rng: rng.choice(["true", "false"]),
    "date": lambda rng: str(dt.date(2000, 1, 1) + dt.timedelta(rng.randrange(9000))),
    "timestamp": lambda rng: str(dt.datetime(2000, 1, 1) + dt.timedelta(seconds=rng.randrange(10**8), microseconds=5)),
    "timestamptz": lambda rng: f"2024-01-{rng.randint(1, 28):02}T10:00:00{rng.choice(['Z', '+02:00', '-03:30'])}",
    "time": lambda rng: f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}",
    "text": lambda rng: rng.choice(["a", "b, c", 'say "x"', "two\nlines", "ñ"]),
}


def infer_one(folder: Path) -> Inferred:
    (table,) = find_tables(folder)
    return infer(table)


def types_of(schema: TableSchema) -> dict[str, str]:
    return {column.name: column.type for column in schema.columns}


def write_column(folder: Path, cells: list[str], name: str = "t.csv") -> None:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([("id", "x"), *((number, cell) for number, cell in enumerate(cells))])
    (folder / name).write_text(out.getvalue(), encoding="utf-8", newline="")


def type_of(folder: Path, cells: list[str]) -> str:
    write_column(folder, cells)
    return types_of(infer_one(folder).schema)["x"]


def generated(rows: int, seed: int = 1) -> list[list[str]]:
    rng = random.Random(seed)
    return [[maker(rng) if rng.random() > 0.05 else "" for maker in MAKERS.values()] for _ in range(rows)]


def csv_bytes(rows: list[list[str]], header: list[str] | None, **options: str) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", **options)  # type: ignore[arg-type]
    writer.writerows([header, *rows] if header else rows)
    return out.getvalue().encode()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_generated_types_are_found(tmp_path: Path, delimiter: str, ending: str) -> None:
    data = csv_bytes(generated(300), list(MAKERS), delimiter=delimiter)
    (tmp_path / f"t{ending}").write_bytes(gzip.compress(data) if ending.endswith(".gz") else data)
    found = infer_one(tmp_path)
    assert found.schema.delimiter == delimiter
    assert found.schema.header
    assert types_of(found.schema) == {name: name for name in MAKERS}
    assert found.notes == ()
    assert found.rows == 300


def test_a_large_file_is_sampled_in_its_middle_and_at_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cauce.schema.samples.TABLE_BYTES", 2**16)
    rows = [[str(n), "1" if n < 30_000 else "1.5", "x" if n == 0 else "2024-01-01"] for n in range(60_000)]
    (tmp_path / "t.csv").write_bytes(csv_bytes(rows, ["a", "b", "c"]))
    found = infer_one(tmp_path)
    assert types_of(found.schema) == {"a": "integer", "b": "decimal(18,1)", "c": "text"}
    assert abs(found.rows - 60_000) < 6_000


def test_a_file_without_a_header_has_numbered_columns(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbf1,a,2024-01-01\n2,b,2024-01-02\n")
    schema = infer_one(tmp_path).schema
    assert not schema.header
    assert types_of(schema) == {"column0": "integer", "column1": "text", "column2": "date"}


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("a,b\n1,2\n", True),
        ("1,2\n3,4\n", False),
        ("a,b\nc,d\n", True),
        ("a,b\n", True),
        ("1,2\n", False),
        ("2020,2021\nx,y\n", True),
        ("name,\nana,5\n", True),
        ("x\n1\n2\n", True),
    ],
)
def test_a_header_is_a_first_line_that_does_not_fit(tmp_path: Path, text: str, header: bool) -> None:
    (tmp_path / "t.csv").write_text(text)
    assert infer_one(tmp_path).schema.header == header


def test_single_quotes_are_found(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n'x, y',1\n'it''s',2\n'z',3\n")
    schema = infer_one(tmp_path).schema
    assert schema.quote == "'"
    assert types_of(schema) == {"a": "text", "b": "integer"}


def test_apostrophes_in_texts_are_not_quotes(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n'tis,1\nit's,2\nO'Brien,3\n")
    assert infer_one(tmp_path).schema.quote == '"'


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["007", "008"], "text"),
        (["0", "7"], "integer"),
        (["00.5", "1"], "text"),
        (["17272.0", "5.0"], "decimal(18,1)"),
        (["+5", "6"], "text"),
        (["9223372036854775807", "1"], "integer"),
        (["9223372036854775808", "1"], "text"),
        (["1.500000", "2.250000"], "decimal(18,6)"),
        (["1.500001", "2.25"], "decimal"),
        (["1e5", "2"], "float"),
        (["1.5", "nan", "-inf"], "float"),
        (["nan", "nan"], "text"),
        (["0.1234567890123456789", "1"], "float"),
        (["yes", "No"], "boolean"),
        (["t", "F"], "boolean"),
        (["1", "0"], "integer"),
        (["y", "n"], "text"),
        (["2024-01-01", "2024-01-01 10:00"], "timestamp"),
        (["2024-01-01T10:00Z", "2024-01-01T10:00"], "text"),
        (["2024-02-30", "2024-01-01"], "text"),
        (["01/02/2024", "13/02/2024"], "text"),
        (["10:00", "11:30:00.5"], "time"),
        (["", ""], "text"),
        (["NULL", "NA"], "text"),
        (["1,5", "2"], "text"),
    ],
)
def test_rules_of_types(tmp_path: Path, cells: list[str], expected: str) -> None:
    assert type_of(tmp_path, cells) == expected


DUCKDB = {"BIGINT": "integer", "DOUBLE": "number", "BOOLEAN": "boolean", "DATE": "date", "TIMESTAMP": "timestamp",
          "TIMESTAMP WITH TIME ZONE": "timestamptz", "TIME": "time", "VARCHAR": "text"}  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_types_agree_with_duckdb(tmp_path: Path, seed: int) -> None:
    """Where rules agree: it reads decimals as floats, and has no fixed scale."""
    rng = random.Random(seed)
    maker = MAKERS[rng.choice(list(MAKERS))]
    cells = [rng.choice([maker(rng), maker(rng), ""]) for _ in range(40)] + [maker(rng)]
    if rng.random() < 0.2:
        cells.append("word")
    found = type_of(tmp_path, cells)
    theirs = duckdb.sql(f"SELECT x FROM read_csv('{tmp_path}/t.csv')").types[0]
    ours = "number" if found.startswith(("decimal", "float")) else found
    assert ours == DUCKDB[str(theirs)]


def test_texts_for_null_are_found_in_typed_columns_only(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,n,country\n1,NA,NA\n2,5,AR\n3,\\N,UY\n")
    schema = infer_one(tmp_path).schema
    assert [(column.type, column.nulls) for column in schema.columns] == [
        ("integer", ()),
        ("integer", ("NA", "\\N")),
        ("text", ()),
    ]


def test_a_few_bad_cells_are_remarked(tmp_path: Path) -> None:
    write_column(tmp_path, [*map(str, range(50)), "two"])
    found = infer_one(tmp_path)
    assert types_of(found.schema)["x"] == "text"
    remark = (
        "column x is text because of cells such as 'two'; as integer, 1 of 51 values of the sample would be rejected"
    )
    assert found.mixed_columns == {"x": MixedColumn("integer", remark)}
    assert found.notes == ()


def test_a_nearly_decimal_column_has_the_decimals_of_its_other_cells(tmp_path: Path) -> None:
    write_column(tmp_path, [*(f"{n}.25" for n in range(50)), "7", "12,5"])
    assert infer_one(tmp_path).mixed_columns["x"].type == "decimal(18,2)"


def test_dirty_records_do_not_disturb(tmp_path: Path) -> None:
    rows = b'a,b\n1,2\n3\n4,5,6\n"x,7\n8,9\n\n10,11\n"y"z,1\n'
    (tmp_path / "t.csv").write_bytes(rows)
    assert types_of(infer_one(tmp_path).schema) == {"a": "integer", "b": "integer"}


def test_columns_without_a_name_of_their_own_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,b,\n1,2,3,4\n")
    found = infer_one(tmp_path)
    assert types_of(found.schema) == {"a": "integer"}
    assert "without a name of their own are not read: b, (without a name)" in found.notes[0]


# Several files.


def write_files(folder: Path, **files: str) -> None:
    (folder / "t").mkdir()
    for name, text in files.items():
        (folder / "t" / f"{name}.csv").write_text(text)


def test_columns_added_and_reordered_over_time_are_a_union(tmp_path: Path) -> None:
    write_files(tmp_path, a="id,x\n1,2\n", b="x,id,extra\n2.5,3,2024-01-01\n", c="id\n7\n")
    found = infer_one(tmp_path)
    assert types_of(found.schema) == {"id": "integer", "x": "decimal(18,1)", "extra": "date"}
    assert found.notes == (
        "t: column x is null in all rows of t/c.csv, where there is no such column",
        "t: column extra is null in all rows of t/a.csv, t/c.csv, where there is no such column",
    )


def test_files_with_different_delimiters_are_refused(tmp_path: Path) -> None:
    write_files(tmp_path, a="id,x\n1,2\n", b="id;x\n1;2\n")
    with pytest.raises(WrongColumns, match=r"t/a\.csv has delimiter ',' and quote '\"', t/b\.csv has ';'"):
        infer_one(tmp_path)


def test_files_with_and_without_a_header_are_refused(tmp_path: Path) -> None:
    write_files(tmp_path, a="id,x\n1,2\n", b="3,4\n5,6\n")
    with pytest.raises(WrongColumns, match=r"t/a\.csv begins with the names of its columns, and t/b\.csv does not"):
        infer_one(tmp_path)


def test_a_text_column_does_not_hide_the_header_of_another_file(tmp_path: Path) -> None:
    write_files(tmp_path, a="name\nana\n", b="name\n5\n")
    assert types_of(infer_one(tmp_path).schema) == {"name": "text"}


# Other formats.


def test_types_of_parquet_are_those_of_the_file(tmp_path: Path) -> None:
    table = pa.table(
        {
            "i": pa.array([1, None], pa.int32()),
            "d": pa.array([decimal.Decimal("1.50"), None], pa.decimal128(10, 2)),
            "wide": pa.array([decimal.Decimal(1), None], pa.decimal128(38, 10)),
            "f": [1.5, None],
            "b": [True, None],
            "day": [dt.date(2024, 1, 1), None],
            "at": [dt.datetime(2024, 1, 1), None],
            "utc": pa.array([dt.datetime(2024, 1, 1), None], pa.timestamp("ms", "UTC")),
            "clock": [dt.time(10), None],
            "s": ["x", None],
            "c": pa.array(["x", None]).dictionary_encode(),
            "l": [[1], None],
            "n": pa.nulls(2),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    found = infer_one(tmp_path)
    assert found.rows == 2
    assert types_of(found.schema) == {
        "i": "integer", "d": "decimal(18,2)", "wide": "decimal", "f": "float", "b": "boolean", "day": "date",
        "at": "timestamp", "utc": "timestamptz", "clock": "time", "s": "text", "c": "text", "l": "json", "n": "text",
    }  # fmt: skip


def test_types_of_ndjson_are_those_of_the_values(tmp_path: Path) -> None:
    rows = [
        {"i": 1, "d": 1.25, "b": True, "s": "5", "day": "2024-01-01", "o": {"x": 1}, "m": 1},
        {"i": None, "b": None, "e": 1e30, "m": "x", "o": [1]},
        {"late": "x", "n": None},
    ]
    (tmp_path / "t.ndjson").write_text("\n".join([*map(json.dumps, rows), "broken", ""]))
    found = infer_one(tmp_path)
    assert found.rows == 3
    assert types_of(found.schema) == {
        "i": "integer", "d": "decimal(18,2)", "b": "boolean", "s": "text", "day": "date", "o": "json", "m": "text",
        "e": "float", "late": "text", "n": "text",
    }  # fmt: skip


def test_files_of_several_formats_share_their_columns(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t/a.csv").write_text("id;x\n1;2\n")
    (tmp_path / "t/b.tsv").write_text("id\tx\n1\t2024-01-01\n")
    (tmp_path / "t/c.ndjson").write_text('{"id": 1.5}\n')
    pl.DataFrame({"x": ["z"], "id": [3]}).write_parquet(tmp_path / "t/d.parquet")
    schema = infer_one(tmp_path).schema
    assert types_of(schema) == {"id": "decimal(18,1)", "x": "text"}
    assert schema.delimiter == ";"


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"PK\x03\x04\x14\x00\x06\x00\n")
    with pytest.raises(WrongColumns, match=r"t\.csv is not a text file"):
        infer_one(tmp_path)
