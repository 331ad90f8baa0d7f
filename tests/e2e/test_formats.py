"""Formats of answers and of inputs: all contain the same values, with typed lists and exact numbers."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from cauce.api.formats import Format
from cauce.datasets import BUILT_IN, load
from tests.e2e.comparing import Way, assert_same, run
from tests.e2e.hostile_rows import write_hostile_rows
from tests.e2e.rows import (
    append,
    argentine,
    coffee_folder,
    credit,
    flights_folder,
    movie,
    movies_folder,
    paid,
    rating,
    slow_flight,
    sold,
    store,
    user,
)

Rows = list[dict[str, Any]]
READERS: dict[Format, Callable[[bytes], Rows]] = {
    "json": lambda raw: json.loads(raw, parse_float=Decimal),
    "parquet": lambda raw: pq.read_table(io.BytesIO(raw)).to_pylist(),
    "arrow": lambda raw: pa.ipc.open_file(io.BytesIO(raw)).read_all().to_pylist(),
}


def text(value: object) -> str:
    """A value as its CSV cell, up to the digits that a fixed number of decimals adds or cuts."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "; ".join(value)
    if isinstance(value, int | float | Decimal):
        return str(Decimal(str(value)).normalize())
    return str(value)


def as_number(cell: str, like: object) -> str:
    return str(Decimal(cell).normalize()) if isinstance(like, int | float | Decimal) else cell


@pytest.mark.parametrize("form", ["json", "parquet", "arrow"])
@pytest.mark.parametrize("dataset", BUILT_IN)
def test_every_format_has_the_rows_of_the_csv(dataset: str, form: Format, tmp_path: Path) -> None:
    write_hostile_rows(dataset, tmp_path, 7, 40)
    plain, found = run(dataset, tmp_path), run(dataset, tmp_path, form=form)
    assert found.keys() == plain.keys()
    assert found.get("rejects") == plain.get("rejects")
    for query, declared in load(dataset).queries.items():
        header, *lines = csv.reader(io.StringIO(plain[query].decode(), newline=""))
        rows = READERS[form](found[query])
        assert header == list(declared.columns)
        assert [list(row) for row in rows] == [header] * len(lines)
        for line, row in zip(lines, rows, strict=True):
            assert [as_number(cell, value) for cell, value in zip(line, row.values(), strict=True)] == [
                text(value) for value in row.values()
            ]


def all_kinds(data: Path) -> None:
    movies_folder(
        data,
        [
            argentine("1", "Ñ", genres="[{'name': 'Sci; Fi'}, {'name': 'Drama'}]"),
            movie("2", "N", "Argentina", "Spain", genres="[]", release_date="2001-01-01", budget="0.10"),
        ],
        [rating("1", "4"), rating("1", "5"), rating("1", "4")],
        [credit("1", "A")],
    )
    flights_folder(data, [slow_flight("l", "PT9H", totalFare="102.6", baseFare="0.1"), slow_flight("m", "PT8H")])
    coffee_folder(
        data,
        [paid("t", "75.015", user="7"), paid("u", user="8")],
        [sold("3", "2")],
        [store("1", "C")],
        [],
        [user("7", "2000-02-29")],
    )


EXPECTED: dict[tuple[str, str], Rows] = {
    ("movies", "q1"): [{"title": "N", "genres": []}],
    ("movies", "q3"): [
        {"which": "best", "id": 1, "title": "Ñ", "rating": 13 / 3},
        {"which": "worst", "id": 1, "title": "Ñ", "rating": 13 / 3},
    ],
    ("flights", "q1"): [
        {"leg_id": "l", "origin": "A", "destination": "Z", "fare": Decimal("102.60"), "stopovers": ["B", "C", "D"]},
        {"leg_id": "m", "origin": "A", "destination": "Z", "fare": None, "stopovers": ["B", "C", "D"]},
    ],
    ("coffee", "q1"): [{"transaction_id": "t", "final_amount": Decimal("75.02")}],
    ("coffee", "q4"): [
        {"store_name": "C", "user_id": 7, "birthdate": date(2000, 2, 29), "purchases": 1},
        {"store_name": "C", "user_id": 8, "birthdate": None, "purchases": 1},
    ],
}


@pytest.mark.parametrize(("dataset", "query"), EXPECTED)
def test_columnar_formats_have_typed_columns(dataset: str, query: str, tmp_path: Path) -> None:
    all_kinds(tmp_path)
    for form in ("parquet", "arrow"):
        assert READERS[form](run(dataset, tmp_path, [query], form=form)[query]) == EXPECTED[dataset, query]


def test_json_has_lists_nulls_and_all_digits(tmp_path: Path) -> None:
    all_kinds(tmp_path)
    assert run("flights", tmp_path, ["q1"], form="json")["q1"].decode() == (
        '[\n{"leg_id":"l","origin":"A","destination":"Z","fare":102.60,"stopovers":["B","C","D"]},\n'
        '{"leg_id":"m","origin":"A","destination":"Z","fare":null,"stopovers":["B","C","D"]}\n]\n'
    )


@pytest.mark.parametrize("form", ["json", "parquet", "arrow"])
def test_empty_answer_is_readable(form: Format, tmp_path: Path) -> None:
    movies_folder(tmp_path)
    found = run("movies", tmp_path, form=form)
    assert [READERS[form](found[query]) for query in ("q1", "q2", "q3", "q4", "q5")] == [[]] * 5


def compressed_gz(path: Path) -> None:
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))


def compressed_gz_in_two_members(path: Path) -> None:
    content = path.read_bytes()
    half = len(content) // 2
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(content[:half]) + gzip.compress(content[half:]))


def compressed_zst(path: Path) -> None:
    with pa.CompressedOutputStream(str(path.with_name(path.name + ".zst")), "zstd") as out:
        out.write(path.read_bytes())


@pytest.mark.parametrize(
    "pack", [pytest.param(compressed_gz, marks=pytest.mark.slow), compressed_gz_in_two_members, compressed_zst]
)
@pytest.mark.parametrize("dataset", BUILT_IN)
def test_compressed_inputs_give_the_same_bytes(dataset: str, pack: Callable[[Path], None], tmp_path: Path) -> None:
    write_hostile_rows(dataset, tmp_path, 8, 40)
    plain = run(dataset, tmp_path)
    for path in sorted(tmp_path.rglob("*.csv")):
        pack(path)
        path.unlink()
    found = run(dataset, tmp_path, way=Way(part_bytes=2_000, partitions=3))
    ending = b".csv.zst," if pack is compressed_zst else b".csv.gz,"
    found["rejects"] = found["rejects"].replace(ending, b".csv,")
    assert_same(found, plain, f"{dataset} {pack.__name__}")


def to_parquet(path: Path, delimiter: str, row_group_size: int) -> None:
    """The same cells as text columns."""
    names = path.read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines()[0].decode().split(delimiter)
    table = pa_csv.read_csv(
        path,
        parse_options=pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        ),
    )
    pq.write_table(table, path.with_suffix(".parquet"), row_group_size=row_group_size)


@pytest.mark.parametrize("dataset", BUILT_IN)
def test_parquet_inputs_give_the_same_bytes(dataset: str, tmp_path: Path) -> None:
    write_hostile_rows(dataset, tmp_path, 9, 40, damage=False)
    plain = run(dataset, tmp_path)
    for path in sorted(tmp_path.rglob("*.csv")):
        to_parquet(path, ";" if path.name.startswith("airports") else ",", row_group_size=17)
        path.unlink()
    found = run(dataset, tmp_path)
    assert {query: found[query] for query in found if query != "rejects"} == {
        query: plain[query] for query in plain if query != "rejects"
    }
    assert found["rejects"].count(b"\n") == plain["rejects"].count(b"\n")


def to_ndjson(path: Path, delimiter: str) -> None:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=delimiter))
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.with_suffix(".ndjson").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("dataset", BUILT_IN)
def test_ndjson_inputs_give_the_same_bytes(dataset: str, tmp_path: Path) -> None:
    write_hostile_rows(dataset, tmp_path, 9, 40, damage=False)
    plain = run(dataset, tmp_path)
    for path in sorted(tmp_path.rglob("*.csv")):
        to_ndjson(path, ";" if path.name.startswith("airports") else ",")
        path.unlink()
    found = run(dataset, tmp_path, way=Way(part_bytes=2_000, partitions=3))
    assert {query: found[query] for query in found if query != "rejects"} == {
        query: plain[query] for query in plain if query != "rejects"
    }
    assert found["rejects"].count(b"\n") == plain["rejects"].count(b"\n")


def test_parquet_inputs_may_have_real_types(tmp_path: Path) -> None:
    coffee_folder(tmp_path, [], [], [store("1", "C")], [], [user("7", "2000-02-29")])
    (tmp_path / "transactions/transactions_202401.csv").unlink()
    pl.DataFrame(
        {
            "transaction_id": ["t", "u"],
            "store_id": [1, 1],
            "user_id": [7.0, None],
            "final_amount": [75.5, 80.25],
            "created_at": ["2024-01-01 12:00:00"] * 2,
        }
    ).with_columns(pl.col("created_at").str.to_datetime()).write_parquet(tmp_path / "transactions_202401.parquet")
    found = run("coffee", tmp_path)
    assert found["q1"] == b"transaction_id,final_amount\nt,75.50\nu,80.25\n"
    assert found["q4"] == b"store_name,user_id,birthdate,purchases\nC,7,2000-02-29,1\n"


def test_monthly_files_may_have_different_formats(tmp_path: Path) -> None:
    coffee_folder(tmp_path, [paid("a", "80")])
    folder = tmp_path / "transactions"
    for month, id_ in (("202402", b"b"), ("202403", b"c")):
        path = folder / f"transactions_{month}.csv"
        path.write_bytes((folder / "transactions_202401.csv").read_bytes().replace(b"\na,", b"\n" + id_ + b","))
        compressed_gz(path) if month == "202402" else compressed_zst(path)
        path.unlink()
    append(folder / "transactions_202401.csv", b"")
    assert run("coffee", tmp_path, ["q1"])["q1"] == b"transaction_id,final_amount\na,80.00\nb,80.00\nc,80.00\n"
