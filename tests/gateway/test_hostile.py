"""Malicious bodies: each is rejected with a ServiceError or read as data, in bounded memory."""

from __future__ import annotations

import gzip
import io
import random
import resource
import struct
import tracemalloc
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cauce.api.jobs import JobRequest
from cauce.gateway.errors import BadPart, BadRequest, PartTooLarge, ServiceError, UnsupportedFormat
from cauce.gateway.jobs.job_service import Jobs
from cauce.gateway.model import PartBody
from cauce.scan.formats.parquet_metadata import footer_of
from cauce.worker.loop import Worker
from tests.gateway.serving import JOB, OWNER, World, ipc, parquet, run_to_end, zstd

MIB = 1 << 20
HEADER = b"Title,authors,publisher,publishedDate,categories\n"
COLUMNS = HEADER.decode().strip().split(",")
GOOD = pa.table(
    {
        "Title": ["Distributed", None, "x" * 50],
        "authors": ["['A']", "[]", "['B']"],
        "publisher": ["p", "q", None],
        "publishedDate": ["2001", "2002", "1999"],
        "categories": [["Computers"], [], None],
    }
)


@pytest.fixture
def jobs(lone: World) -> Jobs:
    made = lone.gateway()
    made.create(OWNER, JOB, JobRequest("books", ["q1"]))
    return made


def put(jobs: Jobs, data: bytes, form: str = "csv", compression: str = "", seq: int = 0, **more: object) -> bool:
    return jobs.uploads.put_part(OWNER, JOB, "books", seq, PartBody(data, form, compression, **more))  # type: ignore[arg-type]


@pytest.fixture
def little_memory() -> Iterator[None]:
    """Fails if the process has grown by more than a decompression bomb may make it grow."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 700 * 1024, f"{grown // 1024} MiB more"


def finish(jobs: Jobs, worker: Worker, parts: int) -> str:
    jobs.uploads.complete(OWNER, JOB, "books", parts)
    return run_to_end(jobs, worker).state


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\n\n",
        b"\xef\xbb\xbf",
        b",,,\n",
        b'"Title\n' * 10,
        b'"Title"x,authors\n',
        b"Title,Title,authors,publisher,publishedDate,categories\n",
        b"title,authors\n",
        b"\0" * 1000,
        b"," * MIB,
        b"Title" + b"," * (4 * MIB),
        b"x" * (2 * MIB),
        HEADER.strip() + b"," * 20_000 + b"\n",
    ],
)
def test_csv_without_a_valid_header_is_rejected(jobs: Jobs, data: bytes, little_memory: None) -> None:
    with pytest.raises(BadPart):
        put(jobs, data)
    with pytest.raises(BadPart):
        put(jobs, zstd(data), compression="zstd")


@pytest.mark.parametrize(
    "columns", [(), ("Title",), ("Title", "Title", *COLUMNS[1:]), tuple(map(str, range(20_000))), ("\ud800",)]
)
def test_invalid_columns_are_rejected(jobs: Jobs, columns: tuple[str, ...]) -> None:
    with pytest.raises(ServiceError):
        put(jobs, b"x\n", columns=columns)


@pytest.mark.parametrize("name", ["a\nb", "\0", "x" * 501, "\ud800", "\x7f"])
def test_invalid_file_names_are_rejected(jobs: Jobs, name: str) -> None:
    with pytest.raises(BadRequest):
        put(jobs, HEADER, file=name)


@pytest.mark.parametrize("line", [-1, 2**60])
def test_invalid_line_numbers_are_rejected(jobs: Jobs, line: int) -> None:
    with pytest.raises(BadRequest):
        put(jobs, HEADER, first_line=line)


def test_a_file_name_is_only_a_name(jobs: Jobs, lone: World) -> None:
    put(jobs, HEADER + b"broken\n", file="../../etc/passwd")
    assert finish(jobs, lone.worker(), 1) == "done"
    assert jobs.rejects(OWNER, JOB, None, 10).rows["file"].to_list() == ["../../etc/passwd"]


@pytest.mark.parametrize("form", ["", "xml", "CSV", "pickle"])
def test_unknown_forms_are_refused(jobs: Jobs, form: str) -> None:
    with pytest.raises(UnsupportedFormat):
        put(jobs, HEADER, form)


@pytest.mark.parametrize("form", ["arrow", "parquet", "reference"])
def test_content_encoding_of_self_compressed_formats_is_rejected(jobs: Jobs, form: str) -> None:
    with pytest.raises(UnsupportedFormat):
        put(jobs, gzip.compress(HEADER), form, "gzip")


@pytest.mark.parametrize("form", ["csv", "ndjson"])
@pytest.mark.parametrize("pack", ["gzip", "zstd"])
def test_bombs_are_cut_off(lone: World, form: str, pack: str) -> None:
    jobs = lone.gateway(decompressed_bytes=16 * MIB)
    jobs.create(OWNER, JOB, JobRequest("books", ["q1"]))
    packed = {"gzip": gzip.compress, "zstd": zstd}[pack]
    start = HEADER if form == "csv" else b""
    for filling in (b"x", b"\n", b"a,b,c,d,e\n", b'"'):
        data = packed(start + filling * (100 * MIB // len(filling)))
        assert len(data) < 2 * MIB
        tracemalloc.start()
        with pytest.raises(PartTooLarge):
            put(jobs, data, form, pack)
        assert tracemalloc.get_traced_memory()[1] < 10 * MIB
        tracemalloc.stop()


@pytest.mark.parametrize("pack", ["gzip", "zstd"])
def test_corrupt_compressed_bytes_are_rejected(jobs: Jobs, pack: str) -> None:
    good = {"gzip": gzip.compress, "zstd": zstd}[pack](HEADER + b"a,b,c,d,e\n" * 5_000)
    rng = random.Random(1)
    for cut in range(0, len(good), max(1, len(good) // 50)):
        if cut:
            with pytest.raises(BadPart):
                put(jobs, good[:cut], "csv", pack)
    for data in (b"hello", b"\0" * 100, good + b"trailing"):
        with pytest.raises(BadPart):
            put(jobs, data, "csv", pack)
    for _ in range(200):
        flipped = bytearray(good)
        flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
        outcome(jobs, bytes(flipped), "csv", pack)


_next = iter(range(1, 10**6))


def outcome(jobs: Jobs, data: bytes, form: str, compression: str = "") -> str:
    """Accepted or rejected: any other exception fails the test."""
    try:
        put(jobs, data, form, compression, next(_next))
    except ServiceError as problem:
        assert problem.status in (413, 415, 422), problem  # noqa: PT017
        return problem.code
    return "taken"


FORMS: dict[str, tuple[str, bytes]] = {
    "arrow": ("arrow", ipc(GOOD)),
    "arrow lz4": ("arrow", ipc(GOOD, compression="lz4")),
    "arrow zstd": ("arrow", ipc(GOOD, compression="zstd")),
    "arrow dictionary": (
        "arrow",
        ipc(GOOD.set_column(0, "Title", GOOD["Title"].combine_chunks().dictionary_encode())),
    ),
    "arrow view": ("arrow", ipc(GOOD.set_column(0, "Title", GOOD["Title"].cast(pa.string_view())))),
    "parquet": ("parquet", parquet(GOOD)),
    "parquet 2": ("parquet", parquet(GOOD, data_page_version="2.0", compression="zstd", use_dictionary=False)),
    "ndjson": ("ndjson", b'{"Title":"a","authors":[],"publisher":1,"publishedDate":null,"categories":"[]"}\n' * 3),
}


@pytest.mark.parametrize("case", FORMS)
def test_flipped_and_truncated_bytes_are_at_worst_rejected(case: str, jobs: Jobs, lone: World) -> None:
    form, good = FORMS[case]
    assert put(jobs, good, form, seq=0)
    rng = random.Random(case)
    taken = [good]
    for _ in range(400):
        bad = bytearray(good)
        for _ in range(rng.choice((1, 1, 2, 8))):
            at = rng.randrange(len(bad))
            match rng.randrange(4):
                case 0:
                    bad[at] ^= 1 << rng.randrange(8)
                case 1:
                    bad[at : at + 4] = rng.choice(
                        (b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff", b"\0\0\0\x80", b"\0\0\0\0")
                    )
                case 2:
                    bad[at : at + 8] = struct.pack("<q", rng.choice((-1, 2**62, -(2**62), 2**31)))
                case 3:
                    del bad[at : at + rng.randrange(1, 20)]
            if not bad:
                break
        data = bytes(bad)
        if outcome(jobs, data, form) == "taken":
            taken.append(data)
    # Accepted parts must not crash a worker; they may fail the job.
    jobs.cancel(OWNER, JOB)
    jobs.create(OWNER, "again", JobRequest("books", ["q1"]))
    for seq, data in enumerate(taken):
        jobs.uploads.put_part(OWNER, "again", "books", seq, PartBody(data, form))  # type: ignore[arg-type]
    jobs.uploads.complete(OWNER, "again", "books", len(taken))
    status = run_to_end(jobs, lone.worker(), "again")
    assert status.state == "done", status.cause


@pytest.mark.parametrize("form", ["arrow", "parquet", "ndjson", "csv", "reference"])
def test_random_bytes_are_rejected_or_read_without_errors(form: str, jobs: Jobs) -> None:
    rng = random.Random(form)
    for _ in range(300):
        outcome(jobs, rng.randbytes(rng.choice((0, 1, 4, 8, 100, 3000))), form)
        outcome(jobs, b"PAR1" + rng.randbytes(100) + b"PAR1", form)
        outcome(
            jobs, b"\xff\xff\xff\xff" + struct.pack("<i", rng.choice((-1, 2**31 - 1, 8, 64))) + rng.randbytes(80), form
        )


def arrow_with(column: pa.Array) -> bytes:
    height = len(column)
    others = {name: pa.nulls(height, pa.string()) for name in COLUMNS[1:]}
    return ipc(pa.table({"Title": column, **others}))


def column_of_views() -> pa.Array:
    """A million texts that all refer to the same megabyte."""
    text = np.frombuffer(b"x" * MIB, np.uint8)
    view = struct.pack("<i4sii", MIB, b"xxxx", 0, 0)
    buffers = [None, pa.py_buffer(view * 1_000_000), pa.py_buffer(text)]
    return pa.Array.from_buffers(pa.string_view(), 1_000_000, buffers)


def nested(depth: int) -> pa.Array:
    array = pa.array(["x"])
    for _ in range(depth):
        array = pa.ListArray.from_arrays([0, len(array)], array)
    return array


ARROW_BOMBS: dict[str, Callable[[], bytes]] = {
    "a dictionary": lambda: arrow_with(
        pa.DictionaryArray.from_arrays(pa.array(np.zeros(1_000_000, np.int32)), pa.array(["x" * MIB]))
    ),
    "views": lambda: arrow_with(column_of_views()),
    "nulls": lambda: arrow_with(pa.nulls(20_000_000)),
    "runs": lambda: arrow_with(pa.RunEndEncodedArray.from_arrays([1_000_000], ["x" * MIB])),
    "list views": lambda: arrow_with(
        pa.ListViewArray.from_arrays(
            pa.array([0] * 10_000, pa.int32()), pa.array([10_000] * 10_000, pa.int32()), pa.array(["x" * 100] * 10_000)
        )
    ),
    "nesting": lambda: arrow_with(nested(60)),
    "structs": lambda: arrow_with(pa.array([{"a": {"b": 1}}]).cast(pa.struct([("a", pa.struct([("b", pa.int64())]))]))),
    "zstd": lambda: ipc(pa.table({name: pa.array(["x" * (100 * MIB)]) for name in COLUMNS}), compression="zstd"),
}


@pytest.mark.parametrize("case", ARROW_BOMBS)
def test_arrow_bombs_use_bounded_memory(case: str, jobs: Jobs, lone: World) -> None:
    data = ARROW_BOMBS[case]()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = outcome(jobs, data, "arrow")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500 * 1024
    assert found in {"bad-part", "part-too-large"} if case != "structs" else found == "taken"


def parquet_of(column: pa.Array, **options: object) -> bytes:
    height = len(column)
    others = {name: pa.nulls(height, pa.string()) for name in COLUMNS[1:]}
    return parquet(pa.table({"Title": column, **others}), **options)


PARQUET_BOMBS: dict[str, Callable[[], bytes]] = {
    "a dictionary": lambda: parquet_of(
        pa.DictionaryArray.from_arrays(pa.array(np.zeros(1_000_000, np.int32)), pa.array(["x" * MIB]))
    ),
    "rows": lambda: parquet_of(pa.array(np.zeros(20_000_000, np.int8))),
    "zstd": lambda: parquet_of(
        pa.array(["x" * (60 * MIB)] * 6), compression="zstd", use_dictionary=False, write_statistics=False
    ),
    "prefixes": lambda: parquet_of(
        pa.array(["x" * MIB] * 300),
        use_dictionary=False,
        column_encoding={"Title": "DELTA_BYTE_ARRAY"},
        write_statistics=False,
    ),
    "nesting": lambda: parquet_of(nested(60)),
}


@pytest.mark.parametrize("case", PARQUET_BOMBS)
def test_parquet_bombs_use_bounded_memory(case: str, jobs: Jobs) -> None:
    data = PARQUET_BOMBS[case]()
    assert len(data) < 10 * MIB
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert outcome(jobs, data, "parquet") in {"bad-part", "part-too-large"}
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500 * 1024


def test_a_parquet_page_with_false_counts_is_rejected(jobs: Jobs) -> None:
    """The footer is valid; a page header claims two thousand million values, or bytes."""
    good = parquet(GOOD, compression="none", use_dictionary=False)
    meta = pq.ParquetFile(io.BytesIO(good)).metadata
    at = meta.row_group(0).column(0).data_page_offset
    for offset in range(1, 20):
        for number in (b"\xfe\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x0f"):
            outcome(jobs, good[: at + offset] + number + good[at + offset + 5 :], "parquet")


def test_a_deeply_nested_parquet_footer_is_rejected() -> None:
    deep = b"\x29\xfc\xff\xff\x03" + b"\x55\x02\x00" * 60_000
    data = b"PAR1" + deep + struct.pack("<I", len(deep)) + b"PAR1"
    with pytest.raises(ValueError, match=r"nest|truncated"):
        footer_of(data)
    for byte in (b"\x1c", b"\x19", b"\x1b", b"\xff"):
        filled = byte * 500_000
        with pytest.raises(ValueError):
            footer_of(b"PAR1" + filled + struct.pack("<I", len(filled)) + b"PAR1")


def test_lines_of_json_nested_without_end_are_rejects(jobs: Jobs, lone: World) -> None:
    first = b'{"Title":"a","authors":[],"publisher":1,"publishedDate":null,"categories":"[]"}\n'
    deep = [b"[" * 100_000, b'{"Title":' * 100_000, b'{"Title":' + b"[" * 50_000 + b"]" * 50_000 + b"}"]
    deep.append(b'{"Title":"x","authors":' + b"[" * 900 + b"]" * 900 + b"}")
    assert put(jobs, first + b"\n".join(deep), "ndjson")
    assert finish(jobs, lone.worker(), 1) == "done"
    assert jobs.status(OWNER, JOB).tables["books"].rejects >= 3


@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_a_cell_of_a_hundred_megabytes(jobs: Jobs, lone: World, form: str) -> None:
    cell = b"x" * (100 * MIB)
    if form == "csv":
        rows = HEADER + b'"' + cell + b'",[],p,2001,[]\n' + cell + b",[],p,2001,[]\n"
    else:
        rows = b'{"Title":"' + cell + b'","authors":[],"publisher":1,"publishedDate":null,"categories":"[]"}\n'
    with pytest.raises(PartTooLarge):
        put(jobs, rows, form)
    assert put(jobs, zstd(rows), form, "zstd")
    assert finish(jobs, lone.worker(), 1) == "done"


def test_a_hundred_megabytes_in_one_cell_of_arrow(jobs: Jobs, lone: World) -> None:
    table = pa.table({name: pa.array(["x" * (100 * MIB) if name == "Title" else "[]"]) for name in COLUMNS})
    assert put(jobs, ipc(table, compression="zstd"), "arrow")
    assert put(jobs, parquet(table, use_dictionary=False), "parquet", seq=1)
    assert finish(jobs, lone.worker(), 2) == "done"
