"""The four result formats."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from decimal import Decimal
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cauce.api.formats import FORMATS, Format
from cauce.job.result_formats import csv_text, open_answer
from cauce.plan import DATE, DECIMAL, FLOAT, INTEGER, TEXT, TEXT_LIST, decimal
from cauce.plan.outputs import Output

COLUMNS: dict[str, Output] = {
    "name": TEXT,
    "count": INTEGER,
    "mean": FLOAT,
    "tags": TEXT_LIST,
    "money": decimal(2),
    "day": DATE,
    "plain": DECIMAL,
}
ANSWER = pl.DataFrame(
    {
        "name": ["Añá", None],
        "count": [2**63 - 1, None],
        "mean": [0.1, None],
        "tags": [["a", "b"], None],
        "money": [Decimal("12345678901234567890.10"), None],
        "day": [dt.date(2024, 2, 29), None],
        "plain": [Decimal("947.5"), None],
    },
    schema={name: output.dtype for name, output in COLUMNS.items()},
)


def written(folder: Path, form: Format, *pages: pl.DataFrame) -> Path:
    path = folder / f"answer.{form}"
    answer = open_answer(path, COLUMNS, form)
    for page in pages:
        answer.page(page)
    answer.close()
    return path


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("plain", "plain"),
        ("a,b", '"a,b"'),
        ('say "no"', '"say ""no"""'),
        ("two\nlines", '"two\nlines"'),
        ("old\rline", '"old\rline"'),
        (" leading", " leading"),
        ("semi;colon", "semi;colon"),
        ("", ""),
        (None, ""),
    ],
)
def test_a_cell_is_quoted_only_where_it_must_be(cell: str | None, text: str) -> None:
    assert csv_text(pl.DataFrame({"a": ["x"], "b": pl.Series([cell], dtype=pl.String)})) == f"x,{text}\n"


def test_only_cells_that_need_quotes_are_quoted() -> None:
    assert csv_text(pl.DataFrame({"a": ["x,y", "z"]})) == '"x,y"\nz\n'


def test_csv_round_trips_through_a_csv_reader() -> None:
    cells = ['a,"b"\r\nc', '""', "\r", " ", "é😀", "'"]
    text = csv_text(pl.DataFrame({"a": cells, "b": cells[::-1]}))
    assert list(csv.reader(io.StringIO(text, newline=""))) == [
        list(row) for row in zip(cells, cells[::-1], strict=True)
    ]


def test_csv_has_a_header_and_formats_each_output_by_its_type(tmp_path: Path) -> None:
    assert written(tmp_path, "csv", ANSWER).read_bytes().decode() == (
        "name,count,mean,tags,money,day,plain\n"
        "Añá,9223372036854775807,0.1,a; b,12345678901234567890.10,2024-02-29,947.5\n"
        ",,,,,,\n"
    )


def test_a_header_is_quoted_like_any_cell(tmp_path: Path) -> None:
    answer = open_answer(tmp_path / "a.csv", {"a,b": TEXT}, "csv")
    answer.close()
    assert (tmp_path / "a.csv").read_text() == '"a,b"\n'


def test_a_header_is_read_by_another_reader(tmp_path: Path) -> None:
    names = ["plain", 'a "b"', "a,b", "two\nlines", "a\rb", '"', "ñ", " "]
    open_answer(tmp_path / "a.csv", dict.fromkeys(names, TEXT), "csv").close()
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [names]


def test_json_keeps_every_digit(tmp_path: Path) -> None:
    rows = json.loads(written(tmp_path, "json", ANSWER).read_text(), parse_float=Decimal)
    assert rows[0] == {
        "name": "Añá",
        "count": 2**63 - 1,
        "mean": Decimal("0.1"),
        "tags": ["a", "b"],
        "money": Decimal("12345678901234567890.10"),
        "day": "2024-02-29",
        "plain": Decimal("947.5"),
    }


def test_json_has_null_for_null(tmp_path: Path) -> None:
    rows = json.loads(written(tmp_path, "json", ANSWER).read_text())
    assert set(rows[1].values()) == {None}


def test_json_of_several_pages_is_one_array(tmp_path: Path) -> None:
    rows = json.loads(written(tmp_path, "json", ANSWER[:1], ANSWER.clear(), ANSWER[1:]).read_text())
    assert [row["name"] for row in rows] == ["Añá", None]


def test_parquet_round_trips_with_the_declared_types(tmp_path: Path) -> None:
    back = pl.from_arrow(pq.read_table(written(tmp_path, "parquet", ANSWER[:1], ANSWER[1:])))
    assert isinstance(back, pl.DataFrame)
    assert back.schema == ANSWER.schema
    assert back.rows() == ANSWER.rows()


def test_arrow_round_trips_with_the_declared_types(tmp_path: Path) -> None:
    with pa.ipc.open_file(written(tmp_path, "arrow", ANSWER[:1], ANSWER[1:])) as file:
        back = pl.from_arrow(file.read_all())
    assert isinstance(back, pl.DataFrame)
    assert back.schema == ANSWER.schema
    assert back.rows() == ANSWER.rows()


@pytest.mark.parametrize("pages", [[], [ANSWER.clear()]])
@pytest.mark.parametrize("form", FORMATS)
def test_an_answer_without_rows_still_has_its_columns(tmp_path: Path, form: Format, pages: list[pl.DataFrame]) -> None:
    path = written(tmp_path, form, *pages)
    match form:
        case "csv":
            assert path.read_text() == "name,count,mean,tags,money,day,plain\n"
        case "json":
            assert json.loads(path.read_text()) == []
        case "parquet":
            assert pl.read_parquet(path).schema == ANSWER.schema
        case "arrow":
            assert pl.read_ipc(path).schema == ANSWER.schema


_BOUNDS = {pl.Int8: 7, pl.Int16: 15, pl.Int32: 31, pl.Int64: 63}


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("width", [1, 3])
def test_integers_are_written_as_python_writes_them(width: int, missing: bool) -> None:
    for dtype, bits in _BOUNDS.items():
        values = [0, -1, 7, 2**bits - 1, -(2**bits), *([None] if missing else [])]
        frame = pl.DataFrame({f"c{number}": pl.Series(values, dtype=dtype) for number in range(width)})
        expected = "".join(",".join(["" if value is None else str(value)] * width) + "\n" for value in values)
        assert csv_text(frame) == csv_text(frame, dict.fromkeys(frame.columns, INTEGER)) == expected


def test_pages_of_integers_are_written_by_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cauce.job.result_formats._quoted", None)
    assert csv_text(pl.DataFrame({"k": [1, 2], "v": [3, 4]}), {"k": INTEGER, "v": INTEGER}) == "1,3\n2,4\n"
