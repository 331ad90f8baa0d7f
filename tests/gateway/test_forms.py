"""Parts in every format that the service accepts: the answers equal the oracle's."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import polars as pl
import pyarrow as pa
import pytest

from cauce.api.jobs import JobRequest
from cauce.datasets import BUILT_IN
from cauce.gateway.model import PartBody
from tests.e2e.comparing import assert_same
from tests.e2e.hostile_rows import write_hostile_rows
from tests.gateway.serving import (
    JOB,
    OWNER,
    Convert,
    Sent,
    World,
    answers,
    as_arrow,
    as_csv,
    as_ndjson,
    as_ndjson_zstd,
    as_parquet,
    cut,
    gzipped,
    ipc,
    parquet,
    run_to_end,
    send,
    with_header,
    zstandard,
)
from tests.oracle.api import answer


@pytest.mark.parametrize("convert", [as_csv, with_header, gzipped, zstandard])
@pytest.mark.parametrize("dataset", BUILT_IN)
def test_csv_gives_the_oracles_answers_and_rejects(dataset: str, convert: Convert, lone: World, tmp_path: Path) -> None:
    write_hostile_rows(dataset, tmp_path, 11, 40)
    jobs = lone.gateway()
    send(jobs, cut(dataset, tmp_path, 2_000, convert))
    assert run_to_end(jobs, lone.worker()).state == "done"
    assert_same(answers(jobs), answer(dataset, tmp_path), f"{dataset} {convert.__name__}")


@pytest.mark.parametrize("convert", [as_arrow, as_parquet, as_ndjson, as_ndjson_zstd])
@pytest.mark.parametrize("dataset", BUILT_IN)
def test_other_forms_give_the_oracles_answers(dataset: str, convert: Convert, lone: World, tmp_path: Path) -> None:
    write_hostile_rows(dataset, tmp_path, 9, 40, damage=False)
    jobs = lone.gateway()
    send(jobs, cut(dataset, tmp_path, 2_000, convert))
    assert run_to_end(jobs, lone.worker()).state == "done"
    found, wanted = answers(jobs), answer(dataset, tmp_path)
    rejects = found.pop("rejects", b""), wanted.pop("rejects", b"")
    assert_same(found, wanted, f"{dataset} {convert.__name__}")
    # Line numbers differ, but files and reasons are the same.
    assert rejects[0].count(b"\n") == rejects[1].count(b"\n")


def of_coffee(world: World, stores: bytes, form: str) -> list[tuple[object, ...]]:
    """The answer of a query over stores that are sent in another format than the rest."""
    jobs = world.gateway()
    sales = b"transaction_id,store_id,user_id,final_amount,created_at\nt,1,7,75.5,2024-01-01 12:00:00\n"
    jobs.create(OWNER, JOB, JobRequest("coffee", ["q3"]))
    tables = jobs.status(OWNER, JOB).tables
    assert set(tables) == {"stores", "transactions"}
    jobs.uploads.put_part(OWNER, JOB, "transactions", 0, PartBody(sales, "csv"))
    jobs.uploads.put_part(OWNER, JOB, "stores", 0, PartBody(stores, form))  # type: ignore[arg-type]
    for table in tables:
        jobs.uploads.complete(OWNER, JOB, table, 1)
    status = run_to_end(jobs, world.worker())
    assert status.state == "done", status.cause
    return jobs.result(OWNER, JOB, "q3", None, 100).rows.rows()


def polars_stream(frame: pl.DataFrame) -> bytes:
    out = io.BytesIO()
    frame.write_ipc_stream(out)
    return out.getvalue()


STORES = {"store_id": [1, 2], "store_name": ["C", "D"]}


@pytest.mark.parametrize(
    ("form", "data"),
    [
        ("arrow", ipc(pa.table(STORES))),
        ("arrow", ipc(pa.table({"store_id": [1.0, 2.0], "store_name": pa.array(["C", "D"]).dictionary_encode()}))),
        ("arrow", ipc(pa.table(STORES), compression="lz4")),
        ("arrow", polars_stream(pl.DataFrame(STORES))),
        ("parquet", parquet(pa.table(STORES))),
        ("parquet", parquet(pa.table(STORES), compression="zstd", data_page_version="2.0", use_dictionary=False)),
        ("ndjson", b'{"store_id": 1, "store_name": "C"}\n\n  {"store_name":"D","store_id":2,"x":[1,{}]}\r\n'),
    ],
)
def test_columns_may_have_real_types(lone: World, form: str, data: bytes) -> None:
    rows = of_coffee(lone, data, form)
    assert [row[1] for row in rows] == ["C"]


def test_json_lines_that_are_not_objects_are_rejected(lone: World) -> None:
    lines = [
        b'{"store_id": 1, "store_name": "C"}',
        b"[1]",
        b"{",
        b'{"store_id": "x", "store_name": "E"}',
        b"",
        b'{"a":' * 2000,
        b'{"store_id": 3, "store_name": "\xff"}',
        b'{"store_id": 4, "store_name": "\\ud800"}',
        b'{"store_id": {}, "store_name": ["no", "text"]}',
    ]
    of_coffee(lone, b"\n".join(lines), "ndjson")
    rejects = lone.gateway().rejects(OWNER, JOB, None, 100).rows
    assert rejects.select("line", "column", "reason").rows() == [
        (2, None, "not a JSON object"),
        (3, None, "not a JSON object"),
        (4, "store_id", "not an integer id"),
        (6, None, "not a JSON object"),
        (7, None, "not a JSON object"),
        (8, None, "not a JSON object"),
        (9, "store_id", "not an integer id"),
    ]


def test_lists_in_json_are_lists(lone: World) -> None:
    jobs = lone.gateway()
    jobs.create(OWNER, JOB, JobRequest("books", ["q1"]))
    rows = [
        {"Title": "Distributed", "authors": ["A", "O'B"], "publisher": None, "publishedDate": 2001},
        {"Title": "Distributed too", "authors": "['C']", "publisher": "P", "publishedDate": "2002"},
        {"Title": "Distributed three", "authors": ["D", 1], "publisher": "P", "publishedDate": "2002"},
    ]
    lines = b"".join(msgspec.json.encode({**row, "categories": ["Computers"]}) + b"\n" for row in rows)
    jobs.uploads.put_part(OWNER, JOB, "books", 0, PartBody(lines, "ndjson"))
    jobs.uploads.complete(OWNER, JOB, "books", 1)
    run_to_end(jobs, lone.worker())
    assert jobs.result(OWNER, JOB, "q1", None, 10).rows.rows() == [
        ("Distributed", ["A", "O'B"], None),
        ("Distributed too", ["C"], "P"),
    ]
    assert jobs.status(OWNER, JOB).tables["books"].rejects == 1


def test_forms_may_be_mixed(lone: World, books: Path, sent: Sent, wanted: dict[str, bytes]) -> None:
    changed = [with_header, gzipped, zstandard, as_csv]
    tables = {
        table: [changed[seq % len(changed)](body, ",") for seq, body in enumerate(bodies)]
        for table, bodies in sent.tables.items()
    }
    jobs = lone.gateway()
    send(jobs, Sent(sent.dataset, sent.queries, tables))
    run_to_end(jobs, lone.worker())
    assert_same(answers(jobs), wanted)
