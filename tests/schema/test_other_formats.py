"""Files of other formats with the ending of a text file are named; text that merely looks like them is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from cauce.errors import WrongColumns
from cauce.schema import Inferred, find_tables, infer

BINARY = {
    "an Excel workbook": b"PK\x03\x04\x14\x00\x06\x00\n",
    "a PNG image": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
    "Parquet; give it the ending .parquet": b"PAR1\x15\x04\x15\n",
    "gzip; add .gz to its name": b"\x1f\x8b\x08\x00\n",
    "an SQLite database": b"SQLite format 3\x00\x10\x00\n",
    "a PDF document": b"%PDF-1.4\n1 0 obj\n",
    "text in UTF-16; convert it: iconv": "id,x\n1,2\n".encode("utf-16"),
    "a web page or XML": b"\n<!DOCTYPE html>\n<html></html>\n",
}


def infer_one(folder: Path) -> Inferred:
    (table,) = find_tables(folder)
    return infer(table)


@pytest.mark.parametrize("what", BINARY)
def test_a_file_of_another_format_is_named(tmp_path: Path, what: str) -> None:
    (tmp_path / "t.csv").write_bytes(BINARY[what])
    with pytest.raises(WrongColumns) as raised:
        infer_one(tmp_path)
    assert str(raised.value).startswith(f"t.csv is not a text file in UTF-8: it begins like {what}")


@pytest.mark.parametrize("name", ["PAR1", "BZh", "GIF8", "PK"])
def test_a_column_with_the_name_of_a_signature_is_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "t.csv").write_text(f"{name},x\n1,2\n")
    assert [column.name for column in infer_one(tmp_path).schema.columns] == [name, "x"]


def test_json_lines_with_the_ending_of_csv_are_remarked(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('{"a": 1, "b": 2}\n{"a": 3, "b": 4}\n')
    assert infer_one(tmp_path).notes == ("t: t.csv looks like JSON Lines; if it is, give it the ending .jsonl",)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[{"a": 1},\n {"a": 2}]\n', "it is one JSON array; write one object per line"),
        ("a;b\n1;2\n", "none of its lines"),
    ],
)
def test_a_file_of_json_lines_without_objects_says_why(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "t.jsonl").write_text(text)
    with pytest.raises(WrongColumns, match=f"t.jsonl has no rows: {why}"):
        infer_one(tmp_path)
