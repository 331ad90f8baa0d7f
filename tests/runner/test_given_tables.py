"""Tables that Python code passes to `cauce.sql`: frames, files and folders."""

from __future__ import annotations

import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import cauce
from cauce.errors import DataNotFound, UsageError
from cauce.runner.given_tables import folder_of_tables

FRAME = pl.DataFrame({"shop": ["north", "south", "north"], "amount": [Decimal("1.50"), Decimal("2.00"), None]})
CSV = "shop,amount\nnorth,1.50\nsouth,2.00\nnorth,\n"
TOTALS = "SELECT shop, sum(amount) AS total FROM {} GROUP BY shop ORDER BY shop"
EXPECTED = [("north", Decimal("1.50")), ("south", Decimal("2.00"))]


def arrow(frame: pl.DataFrame) -> Any:
    return frame.to_arrow()


def pandas(frame: pl.DataFrame) -> Any:
    pytest.importorskip("pandas")
    return frame.to_pandas()


def same(frame: pl.DataFrame) -> Any:
    return frame


@pytest.mark.parametrize("convert", [same, pl.DataFrame.lazy, arrow, pandas])
def test_a_frame_is_table_data(convert: Any) -> None:
    assert cauce.sql(TOTALS.format("data"), convert(FRAME), workers=1)["q1"].rows() == EXPECTED


def test_a_file_is_a_table_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text(CSV)
    (tmp_path / "broken.csv").write_bytes(b"\xff\xfe")
    assert cauce.sql(TOTALS.format("sales"), tmp_path / "sales.csv", workers=1)["q1"].rows() == EXPECTED


def test_a_dictionary_joins_frames_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "some.csv").write_text(CSV)
    (tmp_path / "parts").mkdir()
    for number in range(2):
        (tmp_path / "parts" / f"{number}.csv").write_text("shop,owner\nnorth,Ana\n")
    text = (
        "SELECT owner, count(*) AS n, max(area) AS area FROM sales JOIN owners USING (shop) JOIN areas USING (shop) "
        "GROUP BY owner"
    )
    areas = pl.DataFrame({"shop": ["north"], "area": [40]})
    data = {"sales": str(tmp_path / "some.csv"), "owners": tmp_path / "parts", "areas": areas}
    assert cauce.sql(text, data, workers=1)["q1"].rows() == [("Ana", 4, 40)]


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with folder_of_tables(FRAME, None) as folder:
        assert [path.name for path in folder.iterdir()] == ["data.parquet"]
        assert folder.parent == tmp_path
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (5, UsageError, "must be a frame of Polars, pandas or Arrow"),
        ({}, UsageError, "data is an empty dictionary"),
        ({"a b": FRAME}, UsageError, "'a b' is not the name of a table"),
        ({3: FRAME}, UsageError, "3 is not the name of a table"),
        ({"x": None}, UsageError, "table x must be a frame"),
        ({"x": "missing.csv"}, DataNotFound, "missing.csv, the file of table x, does not exist"),
        ({"x": __file__}, UsageError, "its name must end in .csv"),
        (pl.DataFrame({"o": [object()]}), UsageError, "the frame of table data cannot be stored"),
    ],
)
def test_other_data_is_refused(data: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        cauce.sql("SELECT 1 AS one FROM data", data)


def test_answers_have_the_time_they_took() -> None:
    answers = cauce.sql("SELECT count(*) AS n FROM data", FRAME, workers=1)
    assert answers.seconds is not None
    assert f"1 answer in {answers.seconds:.2f} s" in answers._repr_html_()
