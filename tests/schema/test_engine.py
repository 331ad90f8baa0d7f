"""Whole small jobs over tables of inferred schemas: values as Python and DuckDB read them, rejects by line."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from decimal import Decimal
from pathlib import Path

import duckdb
import msgspec
import numpy as np
import polars as pl
import pytest

from cauce.plan import DECIMAL, INTEGER, TEXT, Text, agg, decimal
from cauce.runner.sinks import Answers, prepare, run_in_memory
from cauce.scan.reader import cuts_hold, parts_of, read_part
from cauce.schema import DatasetSchema, TableSchema, files_of, find_tables, infer, spec_of, table_of, type_suggestions
from cauce.schema.engine import log_name
from tests.plan.tiny import dataset_of


def schema_of(folder: Path) -> DatasetSchema:
    """As a job has it: inferred, and read again from its manifest."""
    found = DatasetSchema(tuple(infer(table).schema for table in find_tables(folder)))
    return msgspec.json.decode(msgspec.json.encode(found), type=DatasetSchema)


def read(
    folder: Path, schema: TableSchema, part_bytes: int = 64, guess: bool = False
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """All rows in input order, and the rejects."""
    spec = spec_of(schema)
    every = frozenset(spec.columns)
    blocks = [
        read_part(part, spec, every, lambda size: np.empty(size, np.uint8))
        for part in parts_of(files_of(schema, folder), spec, part_bytes, guess)
    ]
    frames = [
        pl.DataFrame([block.column(name, block.usable(every)).alias(name) for name in spec.columns]) for block in blocks
    ]
    return pl.concat(frames), pl.concat([block.rejects(every) for block in blocks])


def test_messages_have_the_name_of_a_table_that_logs_do_not_allow(tmp_path: Path) -> None:
    (tmp_path / "my orders.csv").write_text("id\n1\n")
    spec = spec_of(schema_of(tmp_path).table("my orders"))
    assert (spec.shown, spec.name) == ("my orders", log_name("my orders"))


ROWS = '''\
id,paid,ratio,ok,day,at,moment,clock,name
1,10.50,1e3,true,2024-02-29,2024-01-01T10:00:00.25,2024-01-01T10:00:00+02:00,10:30,"a, ""b"""
2,-0.25,-2.5E-3,no,2023-12-31,2024-01-01 10:00,2024-01-01T10:00:00.5Z,23:59:59.5,ñ
3,,inf,,,,,,
'''


def test_every_type_is_read_exactly(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(ROWS, encoding="utf-8")
    schema = schema_of(tmp_path).table("t")
    frame, rejects = read(tmp_path, schema)
    assert rejects.is_empty()
    assert frame.rows() == [
        (1, Decimal("10.50"), 1000.0, True, dt.date(2024, 2, 29), dt.datetime(2024, 1, 1, 10, 0, 0, 250_000),
         dt.datetime(2024, 1, 1, 8, tzinfo=dt.UTC), dt.time(10, 30), 'a, "b"'),
        (2, Decimal("-0.25"), -0.0025, False, dt.date(2023, 12, 31), dt.datetime(2024, 1, 1, 10),
         dt.datetime(2024, 1, 1, 10, 0, 0, 500_000, tzinfo=dt.UTC), dt.time(23, 59, 59, 500_000), "ñ"),
        (3, None, float("inf"), None, None, None, None, None, None),
    ]  # fmt: skip
    assert frame.schema["paid"] == pl.Decimal(38, 2)
    theirs = duckdb.sql(f"SELECT * REPLACE (paid::DECIMAL(18,2) AS paid) FROM read_csv('{tmp_path}/t.csv')")
    assert frame.drop("moment", "name").rows() == theirs.project("* EXCLUDE (moment, name)").fetchall()


FORMS = {"plain": "t.csv", "headerless": "t.csv", "gzip": "t.csv.gz", "ndjson": "t.ndjson", "tabs": "t.tsv"}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_table_is_read_the_same(tmp_path: Path, form: str) -> None:
    rows = [(n, f"text {n}", f"{n}.25") for n in range(200)]
    names = ("column0", "column1", "column2")
    lines = [",".join(map(str, row)) for row in rows]
    text = "\n".join(lines if form == "headerless" else [",".join(names), *lines]) + "\n"
    if form == "ndjson":
        text = "".join(json.dumps({"column0": a, "column1": b, "column2": float(c)}) + "\n" for a, b, c in rows)
    data = text.replace(",", "\t").encode() if form == "tabs" else text.encode()
    (tmp_path / FORMS[form]).write_bytes(gzip.compress(data) if form == "gzip" else data)
    frame, rejects = read(tmp_path, schema_of(tmp_path).table("t"))
    assert rejects.is_empty()
    assert frame.rows() == [(a, b, Decimal(c)) for a, b, c in rows]


@pytest.mark.parametrize("guess", [False, True])
def test_single_quotes_are_read(tmp_path: Path, guess: bool) -> None:
    rows = [(n, "it's\nlong, " + "x" * (n % 90), f"'{n}'") for n in range(300)]
    cells = [[str(a), b.replace("'", "''"), c.replace("'", "''")] for a, b, c in rows]
    text = "a,b,c\n" + "".join(",".join(f"'{cell}'" for cell in row) + "\n" for row in cells)
    (tmp_path / "t.csv").write_text(text, newline="")
    schema = schema_of(tmp_path).table("t")
    assert schema.quote == "'"
    frame, rejects = read(tmp_path, schema, 700, guess)
    assert rejects.is_empty()
    assert frame.rows() == rows


def test_a_file_without_a_header_is_cut_without_being_read(tmp_path: Path) -> None:
    rows = [(n, f"text {n}, quoted", n * 3) for n in range(2000)]
    (tmp_path / "t.csv").write_text("".join(f'{a},"{b}",{c}\n' for a, b, c in rows))
    schema = schema_of(tmp_path).table("t")
    spec = spec_of(schema)
    parts = list(parts_of(files_of(schema, tmp_path), spec, 5_000, guess=True))
    assert len(parts) > 5
    assert all(part.guessed for part in parts)
    assert cuts_hold(files_of(schema, tmp_path), spec, 5_000)
    frame, rejects = read(tmp_path, schema, 5_000, guess=True)
    assert frame.rows() == rows
    assert rejects.is_empty()


def test_columns_that_a_file_lacks_are_null_in_its_rows(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t/a.csv").write_text("id,x\n1,2\n")
    (tmp_path / "t/b.csv").write_text("new,x,id\nn,3,4\n")
    (tmp_path / "t/c.ndjson").write_text('{"id": 5}\n')
    pl.DataFrame({"new": ["p"]}).write_parquet(tmp_path / "t/d.parquet")
    schema = schema_of(tmp_path).table("t")
    frame, rejects = read(tmp_path, schema)
    assert rejects.is_empty()
    assert frame.rows() == [(1, 2, None), (4, 3, "n"), (5, None, None), (None, None, "p")]


def test_texts_for_null_are_null(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,x,c\n1,NA,NA\n2,5,b\n3,\\N,c\nNULL,7,\n")
    frame, rejects = read(tmp_path, schema_of(tmp_path).table("t"))
    assert rejects.is_empty()
    assert frame.rows() == [(1, None, "NA"), (2, 5, "b"), (3, None, "c"), (None, 7, None)]


def run(folder: Path, schema: TableSchema) -> Answers:
    table = table_of(schema)
    kinds = {name: TEXT if column.kind == Text() else DECIMAL for name, column in table.spec.columns.items()}
    prepared = prepare(dataset_of(table, q=(table.in_input_order(), kinds)), folder)
    return run_in_memory(prepared)


def test_a_job_rejects_cells_that_do_not_fit_and_the_remedy_reads_them(tmp_path: Path) -> None:
    rows = [f"{n},{n},n{n}" for n in range(1000)]
    (tmp_path / "orders.csv").write_text("\n".join(["id,paid,name", *rows, ""]))
    schema = schema_of(tmp_path)
    with (tmp_path / "orders.csv").open("a") as file:
        file.write("1000,7.5,late\nx,1,bad\n")
    answers = run(tmp_path, schema.table("orders"))
    assert answers["q"].height == 1000
    assert answers.rejects.select("line", "column", "raw").rows() == [(1002, "paid", "7.5"), (1003, "id", "x")]
    sentences = type_suggestions(schema.table("orders"), answers.rejects)
    assert sentences == [
        "orders.id is read as integer, but 1 cell is not, such as 'x' (orders.csv line 1003): "
        "use --type orders.id=text",
        "orders.paid is read as integer, but 1 cell is not, such as '7.5' (orders.csv line 1002): "
        "use --type orders.paid=decimal",
    ]
    better = schema.override("orders.id", "text").override("orders.paid", "decimal")
    answers = run(tmp_path, better.table("orders"))
    assert answers.rejects.is_empty()
    assert answers["q"].height == 1002


def test_sums_of_decimals_are_exact(tmp_path: Path) -> None:
    rows = [(n % 7, Decimal(n * 7919 % 100_003) / 100) for n in range(3000)]
    (tmp_path / "orders.csv").write_text("\n".join(["shop,paid", *(f"{shop},{paid:.2f}" for shop, paid in rows), ""]))
    schema = schema_of(tmp_path).table("orders")
    table = table_of(schema)
    sums = table.group_by("shop").agg(paid=agg.sum("paid"), most=agg.max("paid")).sort("shop")
    columns = {"shop": INTEGER, "paid": decimal(2), "most": DECIMAL}
    answers = run_in_memory(prepare(dataset_of(table, q=(sums, columns)), tmp_path))
    expected = [
        (shop, sum(paid for each, paid in rows if each == shop), max(paid for each, paid in rows if each == shop))
        for shop in range(7)
    ]
    assert answers["q"].rows() == expected


def test_the_remedy_for_a_text_for_null_names_it(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id\n1\n")
    schema = schema_of(tmp_path).table("t")
    (tmp_path / "t.csv").write_text("id\n1\nN/A\n")
    _, rejects = read(tmp_path, schema)
    (sentence,) = type_suggestions(schema, rejects)
    remedy = 'write { type = "integer", nulls = ["N/A"] } for it in the schema, or use --type t.id=text'
    assert sentence.endswith(remedy)


def test_names_that_logs_do_not_allow_are_replaced() -> None:
    assert log_name("orders-2024") == "orders-2024"
    assert log_name("my orders") != log_name("my_orders")
    assert log_name("ñ" * 100)[:60].isascii()
