"""Tables for SQL in folders that people have: other files there do not matter, and messages name the file at fault."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from cauce.errors import DataNotFound, WrongColumns
from cauce.runner.sinks import prepare, run_in_memory
from cauce.runner.sql_source import Given, schema_of, source_of, with_types
from cauce.sql_frontend.dataset import dataset_of
from cauce.sql_frontend.problems import SqlError

FILES: dict[str, bytes] = {
    "Sales Report (copy).csv": b'\xef\xbb\xbfOrder ID;Customer Name;;\r\n1;"Ana\nMaria";x;\r\n2;Bob;y;\r\n',
    "UPPER.CSV": b"a,b\n1,2\n",
    "empty.csv": b"",
    "header_only.csv": b"id,name\n",
    "packed.csv.gz": gzip.compress(b"id,v\n1,x\n"),
    "items.tsv": b"id\tname\n1\tpen\n",
    "events.ndjson": b'{"id": 1, "kind": "a"}\n{"id": 2, "kind": null}\n',
    "same.csv": b"id\n1\n",
    "same.tsv": b"id\n2\n",
    "Sub Dir/one.csv": b"id,v\n1,2\n",
    "Sub Dir/two.csv": b"id,w\n3,4\n",
    "dup.csv": b"id,id,\n1,2,3\n",
    "not.parquet": b"not parquet",
    "2024-01.csv": b"x\n1\n",
    "notes.txt": b"hello",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, data in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    return tmp_path


def rows(folder: Path, text: str) -> list[tuple[object, ...]]:
    (frame,) = run_in_memory(prepare(dataset_of(source_of(text, folder)), folder)).values()
    return frame.rows()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('SELECT * FROM "Sales Report (copy)"', [(1, "Ana\nMaria"), (2, "Bob")]),
        ("SELECT * FROM upper", [(1, 2)]),
        ("SELECT * FROM header_only", []),
        ("SELECT * FROM packed", [(1, "x")]),
        ("SELECT i.name, e.kind FROM items i JOIN events e USING (id)", [("pen", "a")]),
        ("SELECT id FROM 'same.tsv'", [(2,)]),
        ('SELECT * FROM "sub dir"', [(1, 2, None), (3, None, 4)]),
        ('SELECT x FROM "2024-01"', [(1,)]),
        ("WITH t AS (SELECT * FROM items) SELECT name FROM t", [("pen",)]),
    ],
)
def test_a_table_is_read_beside_files_that_cannot_be(
    folder: Path, text: str, expected: list[tuple[object, ...]]
) -> None:
    assert rows(folder, text) == expected


@pytest.mark.parametrize(
    ("text", "problem", "part"),
    [
        ("SELECT * FROM empty", DataNotFound, r"empty\.csv is empty; remove it"),
        ("SELECT * FROM same", DataNotFound, r"same\.csv and same\.tsv .* are both table same: .* FROM 'same\.csv'"),
        ("SELECT * FROM dup", WrongColumns, r"without a name of their own .* id, \(without a name\); rename them"),
        ('SELECT * FROM "not"', WrongColumns, r"not\.parquet cannot be read as Parquet"),
        (
            "SELECT * FROM nosuch",
            SqlError,
            r'no table nosuch; there are "2024-01", "Sales Report \(copy\)", "Sub Dir", ',
        ),
        ("SELECT * FROM ventas 2024", SqlError, r"syntax error at 2024: not expected here; quote a name with blanks"),
        ("SELECT * FROM ventas-2024", SqlError, r"syntax error at -: not expected here; quote a name with - with"),
        ("SELECT * FROM 2024-01", SqlError, r"column 15: syntax error at 2024: a table is expected; quote a name"),
    ],
)
def test_a_message_names_the_file_at_fault(folder: Path, text: str, problem: type[Exception], part: str) -> None:
    with pytest.raises(problem, match=part):
        rows(folder, text)


def test_an_unknown_table_brings_no_remarks_about_others(folder: Path) -> None:
    remarks: list[str] = []
    with pytest.raises(SqlError):
        dataset_of(source_of("SELECT * FROM nosuch", folder, note=remarks.append))
    assert remarks == []


def test_the_schema_leaves_out_tables_that_cannot_be_read_and_says_why(folder: Path) -> None:
    remarks: list[str] = []
    names = [table.name for table in schema_of(folder, {}, remarks.append).tables]
    assert names == ["2024-01", "Sales Report (copy)", "Sub Dir", "UPPER", "events", "header_only", "items", "packed"]
    left_out = [each.split(" is left out: ")[0] for each in remarks if " is left out: " in each]
    assert left_out == ["table dup", "table empty", "table not", "table same"]


def test_a_folder_with_unreadable_tables_only_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    with pytest.raises(DataNotFound, match=r"a\.csv is empty"):
        schema_of(tmp_path, {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "SELECT * FROM notes",
            r"^notes\.txt in .* because of its ending; files that are read end in \.csv",
        ),
        (
            "SELECT * FROM 'prices.json'",
            r"^prices\.json in .* JSON objects, one a line, must end in \.ndjson",
        ),
    ],
)
def test_a_file_with_another_ending_is_named(folder: Path, text: str, message: str) -> None:
    (folder / "prices.json").write_bytes(b'{"price": 1}\n')
    with pytest.raises(DataNotFound, match=message):
        source_of(text, folder)


def test_files_with_other_endings_are_remarked(folder: Path) -> None:
    notes: list[str] = []
    schema_of(folder, {}, notes.append)
    assert notes[-1] == "files with other endings are not read: notes.txt"


def test_a_suggested_table_is_written_as_in_a_statement(folder: Path) -> None:
    with pytest.raises(SqlError, match='did you mean "2024-01"'):
        dataset_of(source_of('SELECT * FROM "2024_01"', folder))


def test_the_remedy_for_rejected_cells_is_an_option_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "my orders.csv").write_text("id,paid\n1,x\n2,y\n")
    schema = with_types(schema_of(tmp_path, {}), {"my orders.paid": "integer"})
    source = source_of('SELECT sum(paid) AS paid FROM "my orders"', tmp_path, Given(schema))
    answers = run_in_memory(prepare(dataset_of(source), tmp_path))
    ((table, group),) = answers.summary.groups()
    assert table.remedy(group) == "correct the cells, or read them as text: --type 'my orders.paid=text'"
