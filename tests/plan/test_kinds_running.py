"""Booleans, times and JSON from a file to an answer: the same for every input format and output format."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from cauce.api.formats import FORMATS, Format
from cauce.job.result_formats import open_answer
from cauce.plan import (
    BOOLEAN,
    INTEGER,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    Boolean,
    Column,
    Integer,
    Json,
    Table,
    Timestamp,
    ZonedTimestamp,
    agg,
)
from cauce.runner.sinks import Answers, prepare, run_in_memory
from cauce.scan.parts import Part, TableFile
from cauce.scan.reader import read_part
from tests.plan.tiny import Question, dataset_of

UTC = dt.UTC
VISITS = Table(
    "visits",
    "visits.csv",
    {
        "id": Integer(),
        "seen": ZonedTimestamp(),
        "local": Timestamp(),
        "paid": Boolean(),
        "city": Column("extra", Json("city")),
        "guests": Column("extra", Json("guests", Integer())),
    },
)
ROWS: list[tuple[str, str, str, str, str]] = [
    ("1", "2024-01-01T00:30:00Z", "2024-01-01 00:30", "true", '{"city": "Lima", "guests": 2}'),
    ("2", "2024-01-01T02:00:00.25+02:00", "2024-01-01T02:00:00.250000", "NO", '{"city": "Lima"}'),
    ("3", "2024-01-01 05:00:00-0330", "2024-01-01", "0", '{"guests": 4}'),
    ("4", "", "", "", ""),
    ("5", "2024-01-01 05:00:00", "2024-01-01T05:00Z", "perhaps", '{"city": '),
    ("6", "2024-02-30T00:00Z", "2024-02-30", "Yes", '{"city": "Quito", "guests": "many"}'),
]
HEADER = ("id", "seen", "local", "paid", "extra")
COLUMNS = {"id": INTEGER, "seen": TIMESTAMPTZ, "local": TIMESTAMP, "paid": BOOLEAN, "city": TEXT, "guests": INTEGER}
REJECTS = [
    (6, "extra", "not valid JSON", '{"city": '),
    (6, "local", "a time with an offset", "2024-01-01T05:00Z"),
    (6, "paid", "not a boolean (true/false, yes/no, 1/0)", "perhaps"),
    (6, "seen", "a time without an offset", "2024-01-01 05:00:00"),
    (7, "extra", "not an integer, at guests", '{"city": "Quito", "guests": "many"}'),
    (7, "local", "not a time (YYYY-MM-DD HH:MM[:SS[.f]])", "2024-02-30"),
    (7, "seen", "not a time with an offset (YYYY-MM-DDTHH:MM[:SS[.f]]Z)", "2024-02-30T00:00Z"),
]
GOOD = [
    (1, dt.datetime(2024, 1, 1, 0, 30, tzinfo=UTC), dt.datetime(2024, 1, 1, 0, 30), True, "Lima", 2),
    (2, dt.datetime(2024, 1, 1, 0, 0, 0, 250_000, UTC), dt.datetime(2024, 1, 1, 2, 0, 0, 250_000), False, "Lima", None),
    (3, dt.datetime(2024, 1, 1, 8, 30, tzinfo=UTC), dt.datetime(2024, 1, 1), False, None, 4),
    (4, None, None, None, None, None),
]


def csv_text() -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(ROWS)
    return out.getvalue()


def run(data: Path, table: Table = VISITS, **questions: Question) -> Answers:
    return run_in_memory(prepare(dataset_of(table, **questions), data))


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    (tmp_path / "visits.csv").write_text(csv_text(), encoding="utf-8")
    return tmp_path


def rejects_of(answers: Answers) -> list[tuple[object, ...]]:
    return answers.rejects.select("line", "column", "reason", "raw").rows()


def test_cells_of_csv_become_values_and_rejects(visits: Path) -> None:
    answers = run(visits, q=(VISITS.in_input_order(), COLUMNS))
    assert answers["q"].rows() == GOOD
    # Two columns read the same JSON: a cell that neither can read is one reject.
    assert rejects_of(answers) == REJECTS


def test_cells_of_parquet_texts_are_those_of_csv(tmp_path: Path) -> None:
    texts = pl.DataFrame(ROWS, schema=list(HEADER), orient="row")
    texts.write_parquet(tmp_path / "visits.parquet")
    answers = run(tmp_path, q=(VISITS.in_input_order(), COLUMNS))
    assert answers["q"].rows() == GOOD
    assert rejects_of(answers) == REJECTS


def test_typed_columns_of_parquet_are_read_by_value(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "id": [1, 2],
            "seen": pl.Series([dt.datetime(2024, 1, 1, 12), None]).dt.replace_time_zone("Asia/Tokyo"),
            "local": [dt.datetime(2024, 1, 1, 12, 0, 0, 5), None],
            "paid": [False, None],
            "extra": [{"city": "Lima", "guests": 3}, None],
        }
    )
    frame.write_parquet(tmp_path / "visits.parquet")
    answers = run(tmp_path, q=(VISITS.in_input_order(), COLUMNS))
    seen = dt.datetime(2024, 1, 1, 3, tzinfo=UTC)
    assert answers["q"].rows()[0] == (1, seen, dt.datetime(2024, 1, 1, 12, 0, 0, 5), False, "Lima", 3)
    assert answers["q"].rows()[1] == (2, None, None, None, None, None)
    assert answers.rejects.is_empty()


def arrow_stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def ndjson_line(row: tuple[str, ...]) -> bytes:
    cells: dict[str, object] = dict(zip(HEADER, row, strict=True))
    # As a JSON writer produces them: numbers, booleans and objects, and null for a missing value.
    cells["id"] = int(row[0])
    cells["paid"] = {"true": True, "0": 0}.get(row[3], row[3] or None)
    try:
        cells["extra"] = json.loads(row[4]) if row[4] else None
    except ValueError:
        cells["extra"] = row[4]
    return json.dumps(cells).encode() + b"\n"


@pytest.mark.parametrize("form", ["arrow", "ndjson"])
def test_uploaded_rows_are_read_as_those_of_csv(form: str) -> None:
    texts = pl.DataFrame(ROWS, schema=list(HEADER), orient="row")
    data = arrow_stream(texts.to_arrow()) if form == "arrow" else b"".join(map(ndjson_line, ROWS))
    part = Part(0, TableFile("visits", "visits", len(data)), (), 2, 0, len(data), data, form=form)
    columns = frozenset(VISITS.spec.columns)
    block = read_part(part, VISITS.spec, columns, lambda size: pytest.fail("needs no buffer"))
    assert block.rejects(columns).select("line", "column", "reason", "raw").rows() == REJECTS
    usable = block.usable(columns)
    assert usable is not None
    rows = list(zip(*(block.column(name, usable).to_list() for name in COLUMNS), strict=True))
    assert rows == GOOD


def test_booleans_and_times_can_be_keys_and_be_compared(visits: Path) -> None:
    grouped = VISITS.group_by("paid").agg(n=agg.count(), first=agg.min("seen"), last=agg.max("local")).sort("paid")
    columns = {"paid": BOOLEAN, "n": INTEGER, "first": TIMESTAMPTZ, "last": TIMESTAMP}
    by_time = VISITS.group_by("seen", "local").agg(n=agg.count()).sort("seen")
    answers = run(visits, by_paid=(grouped, columns), by_time=(by_time, {"seen": TIMESTAMPTZ, "n": INTEGER}))
    good = [row for row in GOOD if row[3] is not None]
    unpaid, paid = ([row for row in good if row[3] is value] for value in (False, True))
    assert answers["by_paid"].rows() == [
        (rows[0][3], len(rows), min(row[1] for row in rows), max(row[2] for row in rows)) for rows in (unpaid, paid)
    ]
    assert answers["by_time"].rows() == sorted((row[1], 1) for row in good)


@pytest.mark.parametrize("form", FORMATS)
def test_every_form_of_answer_has_the_same_values(visits: Path, form: Format) -> None:
    answers = run(visits, q=(VISITS.in_input_order(), COLUMNS))
    path = visits / f"answer.{form}"
    writer = open_answer(path, COLUMNS, form)
    writer.page(answers["q"])
    writer.close()
    assert read_back(path, form) == [
        tuple(value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value for value in row) for row in GOOD
    ]


def read_back(path: Path, form: Format) -> list[tuple[object, ...]]:
    """Reads an answer with another program; moments are in UTC without a zone."""
    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    if form == "arrow":
        table = pa.ipc.open_file(path).read_all()  # noqa: F841  (named in the query)
        source = "table"
    else:
        reader = {"csv": "read_csv", "json": "read_json", "parquet": "read_parquet"}[form]
        source = f"{reader}('{path}')"
    query = f"select id, seen::timestamptz::timestamp, local::timestamp, paid::boolean, city, guests from {source}"
    return connection.execute(query.replace("from table", 'from "table"')).fetchall()


def test_times_print_as_iso_8601_in_csv_and_json(visits: Path) -> None:
    answers = run(visits, q=(VISITS.in_input_order(), COLUMNS))
    for form in ("csv", "json"):
        writer = open_answer(visits / form, COLUMNS, form)  # type: ignore[arg-type]
        writer.page(answers["q"])
        writer.close()
    lines = (visits / "csv").read_text().splitlines()
    assert lines[1:3] == [
        "1,2024-01-01T00:30:00Z,2024-01-01T00:30:00,true,Lima,2",
        "2,2024-01-01T00:00:00.250000Z,2024-01-01T02:00:00.250000,false,Lima,",
    ]
    rows = json.loads((visits / "json").read_text())
    assert [list(row.values())[1:4] for row in rows[1:4]] == [
        ["2024-01-01T00:00:00.250000Z", "2024-01-01T02:00:00.250000", False],
        ["2024-01-01T08:30:00Z", "2024-01-01T00:00:00", False],
        [None, None, None],
    ]
