"""Tables of a data folder: names, files, and errors for what cannot be a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from cauce.errors import DataNotFound
from cauce.schema import find_table, find_tables


def write(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"a\n1\n")


def found(folder: Path) -> dict[str, list[str]]:
    return {table.name: [file.name for file in table.files] for table in find_tables(folder)}


def check_all(folder: Path) -> None:
    for table in find_tables(folder):
        table.check()


def test_endings_may_be_in_upper_case(tmp_path: Path) -> None:
    write(tmp_path / "Orders.CSV", tmp_path / "more/ONE.Csv.GZ")
    assert found(tmp_path) == {"Orders": ["Orders.CSV"], "more": ["more/ONE.Csv.GZ"]}


def test_a_problem_of_one_table_leaves_the_others(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "b.tsv")
    (tmp_path / "c.csv").touch()
    assert [table.name for table in find_tables(tmp_path) if not table.problem] == ["a"]


def test_a_file_of_any_format_is_a_table(tmp_path: Path) -> None:
    names = ["a.csv", "b.csv.gz", "c.csv.zst", "d.parquet", "e.ndjson", "f.ndjson.gz", "g.tsv", "h.jsonl.zst"]
    write(*(tmp_path / name for name in [*names, "i.x.csv"]))
    assert found(tmp_path) == {name[0]: [name] for name in names} | {"i.x": ["i.x.csv"]}


def test_a_directory_is_one_table_of_its_files_in_name_order(tmp_path: Path) -> None:
    write(*(tmp_path / "orders" / name for name in ("2024.csv", "2023.csv.gz", "2025.parquet", "notes.txt", ".x.csv")))
    assert found(tmp_path) == {"orders": ["orders/2023.csv.gz", "orders/2024.csv", "orders/2025.parquet"]}
    (table,) = find_tables(tmp_path)
    assert table.path == "orders/"


def test_hidden_and_other_files_are_ignored(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", tmp_path / ".b.csv", tmp_path / "_c.csv", tmp_path / "readme.md", tmp_path / "docs/x.txt")
    assert found(tmp_path) == {"a": ["a.csv"]}


def test_names_that_are_not_identifiers_are_kept(tmp_path: Path) -> None:
    write(tmp_path / "my orders-2024.csv")
    assert list(found(tmp_path)) == ["my orders-2024"]


@pytest.mark.parametrize("other", ["orders.parquet", "orders/1.csv", "Orders.csv"])
def test_two_files_of_one_table_name_are_refused(tmp_path: Path, other: str) -> None:
    write(tmp_path / "orders.csv", tmp_path / other)
    with pytest.raises(DataNotFound, match=r"are both table (o|O)rders: rename or remove one"):
        check_all(tmp_path)


def test_a_file_twice_in_a_directory_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "orders/1.csv", tmp_path / "orders/1.csv.gz")
    with pytest.raises(DataNotFound, match="the same file twice"):
        check_all(tmp_path)


def test_a_folder_without_readable_files_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "notes.txt")
    with pytest.raises(DataNotFound, match=r"holds no file that can be read \(it holds notes\.txt\); .*\.csv"):
        find_tables(tmp_path)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    with pytest.raises(DataNotFound, match=r"a\.csv is empty; remove it"):
        check_all(tmp_path)


@pytest.mark.parametrize(
    ("pattern", "name", "files"),
    [
        ("orders_*.csv", "orders", ["orders_1.csv", "orders_2.csv"]),
        ("orders_1.csv", "orders_1", ["orders_1.csv"]),
        ("sub/", "sub", ["sub/x.csv"]),
        ("sub/*", "sub", ["sub/x.csv"]),
        ("**/x.csv", "x", ["sub/x.csv"]),
    ],
)
def test_a_pattern_names_files(tmp_path: Path, pattern: str, name: str, files: list[str]) -> None:
    write(tmp_path / "orders_2.csv", tmp_path / "orders_1.csv", tmp_path / "sub/x.csv")
    table = find_table(tmp_path, pattern)
    assert [file.name for file in table.files] == files
    assert table.name == name


def test_an_absolute_pattern_may_leave_the_folder(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere/a.csv", tmp_path / "data/b.csv")
    table = find_table(tmp_path / "data", f"{tmp_path}/elsewhere/*.csv")
    assert [file.path for file in table.files] == [f"{tmp_path}/elsewhere/a.csv"]


def test_a_pattern_without_files_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.csv")
    (tmp_path / ".hidden").touch()
    with pytest.raises(DataNotFound, match=r"b_\*\.csv matches no file .*it holds a\.csv"):
        find_table(tmp_path, "b_*.csv")


def test_a_file_instead_of_a_folder_is_named_with_the_statement_that_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "orders.csv"
    file.write_text("a\n1\n")
    with pytest.raises(DataNotFound, match=r"orders\.csv is a file, not a directory; .* FROM '.*orders\.csv'"):
        find_tables(file)
