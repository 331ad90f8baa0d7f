"""Files of a table, and the errors for missing ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from cauce.errors import DataNotFound
from cauce.scan.discovery import check_folder, find_files
from tests.scan.table_forms import (
    spec,
    write,
    write_gz,
)


def names(data: Path, *patterns: str) -> list[str]:
    return [file.name for file in find_files(data, spec(*patterns))]


def test_the_first_pattern_that_matches_is_used(tmp_path: Path) -> None:
    write(tmp_path / "small.csv")
    assert names(tmp_path, "big.csv", "small.csv") == ["small.csv"]
    write(tmp_path / "big.csv")
    assert names(tmp_path, "big.csv", "small.csv") == ["big.csv"]


def test_files_of_a_pattern_come_in_name_order(tmp_path: Path) -> None:
    for month in ("202402", "202312", "202401"):
        write(tmp_path / "sales" / f"sales_{month}.csv")
    assert names(tmp_path, "sales/sales_*.csv") == [
        "sales/sales_202312.csv",
        "sales/sales_202401.csv",
        "sales/sales_202402.csv",
    ]


def test_files_of_a_folder_may_be_in_the_root(tmp_path: Path) -> None:
    write(tmp_path / "sales_1.csv")
    write(tmp_path / "sales" / "sales_2.csv")
    assert names(tmp_path, "sales/sales_*.csv") == ["sales_1.csv", "sales/sales_2.csv"]


def test_a_file_both_in_its_folder_and_in_the_root_is_rejected(tmp_path: Path) -> None:
    write(tmp_path / "sales_1.csv")
    write(tmp_path / "sales" / "sales_1.csv")
    with pytest.raises(DataNotFound, match=r"sales_1\.csv and .*sales_1\.csv are the same file twice"):
        names(tmp_path, "sales/sales_*.csv")


def test_a_file_in_two_encodings_is_rejected(tmp_path: Path) -> None:
    write(tmp_path / "t.csv")
    write_gz(tmp_path / "t.csv.gz")
    with pytest.raises(DataNotFound, match="the same file twice"):
        names(tmp_path)


def test_a_missing_file_is_reported_with_the_existing_files(tmp_path: Path) -> None:
    write(tmp_path / "other.csv")
    with pytest.raises(DataNotFound, match=r"table t needs a\.csv or b\.csv .* which holds other\.csv"):
        names(tmp_path, "a.csv", "b.csv")


def test_empty_directory_has_no_files(tmp_path: Path) -> None:
    with pytest.raises(DataNotFound, match="which holds nothing"):
        names(tmp_path)


def test_a_folder_with_the_name_of_a_file_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(DataNotFound):
        names(tmp_path)


def test_a_file_one_folder_below_is_suggested(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    write(tmp_path / "below/t.csv")
    with pytest.raises(DataNotFound, match=f"name the directory {tmp_path}/below$"):
        names(tmp_path)


def test_a_folder_is_checked_before_it_is_searched(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "file").touch()
    check_folder(tmp_path / "data", "the files")
    with pytest.raises(DataNotFound, match=r"dat does not exist; name the directory that holds .*did you mean data\?"):
        check_folder(tmp_path / "dat", "the files")
    with pytest.raises(DataNotFound, match="file is a file, not a directory"):
        check_folder(tmp_path / "file", "the files")
