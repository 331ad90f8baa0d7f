"""Uploads: every part arrives once and whole, nothing held is sent again, and memory is bounded."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import re
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cauce.client import Sent, Service
from cauce.client.settings import LARGE_FILE_BYTES, LARGE_PART_BYTES, PART_BYTES, Settings
from cauce.errors import InputDiffers, JobFailed, Refused, Unreachable, WrongColumns
from cauce.lab.generators import generate
from tests.client.fake import Fake, Table

SMALL = Settings(part_bytes=4096)


@pytest.fixture
def fake() -> Iterator[Fake]:
    with Fake() as running:
        yield running


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("books")
    generate("books", folder, scale=0.0001, seed=1)
    return folder


def submit(fake: Fake, data: Path, settings: Settings = SMALL, patience_s: float = 20.0, job: str = "j") -> list[Sent]:
    seen: list[Sent] = []
    with Service(fake.url, patience_s=patience_s) as service:
        service.submit("books", data, job=job, wait=False, settings=settings, on_progress=seen.append)
    return seen


def rows_of(path: Path) -> bytes:
    """A file without its header line."""
    return path.read_bytes().partition(b"\n")[2]


def check_whole(fake: Fake, data: Path) -> None:
    for table, file in {"books": "books_data.csv", "reviews": "Books_rating.csv"}.items():
        held = fake.jobs["j"].tables[table]
        assert held.content() == rows_of(data / file)
        assert held.complete == len(held.parts)


def test_the_parts_are_the_file_cut_at_records(fake: Fake, books: Path) -> None:
    submit(fake, books)
    check_whole(fake, books)
    parts = fake.jobs["j"].tables["reviews"].parts
    assert len(parts) > 5
    line = 2
    for seq in sorted(parts):
        headers = parts[seq].headers
        assert unquote(headers["Cauce-File"]) == "Books_rating.csv"
        assert int(headers["Cauce-First-Line"]) == line
        assert json.loads(unquote(headers["Cauce-Columns"]))[1] == "Title"
        assert headers["Content-Type"] == "text/csv"
        line += parts[seq].body.count(b"\n")


def test_progress_counts_every_byte_of_the_files_and_ends_with_all(fake: Fake, books: Path) -> None:
    last = {each.table: each for each in submit(fake, books)}
    for table, file in {"books": "books_data.csv", "reviews": "Books_rating.csv"}.items():
        assert last[table].bytes == last[table].total_bytes == (books / file).stat().st_size
        assert last[table].parts == last[table].sent == len(fake.jobs["j"].tables[table].parts)


def test_the_stored_parts_of_a_new_job_are_not_requested(fake: Fake, books: Path) -> None:
    submit(fake, books)
    assert fake.count("GET") == fake.count("HEAD") == 0


@pytest.fixture
def large(books: Path, tmp_path: Path) -> Path:
    """A folder with a large file."""
    shutil.copytree(books, tmp_path / "large")
    path = tmp_path / "large" / "Books_rating.csv"
    header, _, rows = path.read_bytes().partition(b"\n")
    path.write_bytes(header + b"\n" + rows * (LARGE_FILE_BYTES // len(rows) + 1))
    return tmp_path / "large"


def test_a_large_file_is_sent_in_larger_parts(fake: Fake, large: Path) -> None:
    submit(fake, large, Settings())
    check_whole(fake, large)
    parts = fake.jobs["j"].tables["reviews"].parts
    sizes = [len(parts[seq].body) for seq in sorted(parts)]
    assert sizes[:-1] == [pytest.approx(LARGE_PART_BYTES, rel=0.01)] * (len(sizes) - 1)


def test_an_upload_in_small_parts_resumes_with_the_same_parts(fake: Fake, large: Path) -> None:
    submit(fake, large, Settings(part_bytes=PART_BYTES))
    held = fake.jobs["j"].tables["reviews"]
    before, held.complete = len(held.parts), None
    del held.parts[before // 2]
    sent = fake.count("PUT .*/parts/")
    submit(fake, large, Settings())
    assert (len(held.parts), fake.count("PUT .*/parts/")) == (before, sent + 1)
    check_whole(fake, large)


@pytest.mark.parametrize("what", ["drop", "forget", "refuse"])
def test_faults_on_the_way_change_nothing(fake: Fake, books: Path, what: str) -> None:
    for seq in range(0, 12, 3):
        fake.fail(f"PUT .*reviews/parts/{seq}$", what, times=2)  # type: ignore[arg-type]
    fake.fail("POST .*complete", what)  # type: ignore[arg-type]
    submit(fake, books)
    check_whole(fake, books)
    assert all(fault.times == 0 for fault in fake.faults)


def test_a_part_whose_response_was_lost_is_resent_and_stored_once(fake: Fake, books: Path) -> None:
    fake.fail("PUT .*parts/2$", "forget")
    submit(fake, books)
    assert fake.count("PUT .*reviews/parts/2$") + fake.count("PUT .*books/parts/2$") == 3
    assert fake.count("PUT .*parts/2$", 200) == 1
    check_whole(fake, books)


def test_faults_at_random_on_two_gateways_change_nothing(fake: Fake, books: Path) -> None:
    chance = random.Random(3)
    with Fake(beside=fake) as other:
        for _ in range(30):
            what = chance.choice(["drop", "forget", "refuse"])
            where = chance.choice([fake, other])
            where.fail(f"parts/{chance.randrange(20)}$", what)  # type: ignore[arg-type]
        with Service([fake.url, other.url], patience_s=30) as service:
            service.submit("books", books, job="j", wait=False, settings=SMALL)
    check_whole(fake, books)


def test_slow_answers_do_not_break_the_order_of_anything(fake: Fake, books: Path) -> None:
    fake.fail("PUT .*reviews/parts/0$", "slow", seconds=0.3)
    submit(fake, books)
    check_whole(fake, books)


def broken_off(fake: Fake, books: Path, after: int) -> int:
    """An upload that ends when some parts of the reviews are there; returns how many are."""
    fake.fail(f"PUT .*reviews/parts/({'|'.join(str(seq) for seq in range(after, 999))})$", "refuse", times=9999)
    with pytest.raises(Refused, match="unavailable"):
        submit(fake, books, patience_s=0.3)
    fake.faults.clear()
    fake.seen.clear()
    return len(fake.jobs["j"].tables["reviews"].parts)


def test_resuming_sends_only_missing_parts(fake: Fake, books: Path) -> None:
    there = broken_off(fake, books, 4)
    assert there == 4
    last = {each.table: each for each in submit(fake, books)}
    check_whole(fake, books)
    missing = len(fake.jobs["j"].tables["reviews"].parts) - there
    assert last["reviews"].sent == missing
    assert fake.count("PUT .*/parts/", 201) == fake.count("PUT .*/parts/") == missing
    assert last["books"].sent == 0


def test_a_hole_in_the_middle_is_filled(fake: Fake, books: Path) -> None:
    submit(fake, books)
    held = fake.jobs["j"].tables["reviews"]
    held.complete = None
    for seq in (1, 3):
        del held.parts[seq]
    fake.seen.clear()
    submit(fake, books)
    check_whole(fake, books)
    assert sorted(each.path.rpartition("/")[2] for each in fake.seen if "/parts/" in each.path) == ["1", "3"]


@pytest.mark.parametrize("compress", ["none", "zstd"])
@pytest.mark.parametrize("ended", [True, False])
def test_other_files_under_the_same_id_are_refused(
    fake: Fake, books: Path, tmp_path: Path, compress: str, ended: bool
) -> None:
    settings = Settings(compress, 4096)  # type: ignore[arg-type]
    submit(fake, books, settings)
    job = fake.jobs["j"]
    if ended:
        job.state = "done"
    else:
        job.tables["reviews"].complete = None
    generate("books", tmp_path, scale=0.0001, seed=2)
    with pytest.raises(InputDiffers, match=r"job j was sent with other data: table \w+, .*another job id"):
        submit(fake, tmp_path, settings)
    assert (job.tables["reviews"].complete is None) is not ended


@pytest.fixture
def copy(books: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "copy"
    shutil.copytree(books, folder)
    return folder


def test_the_same_files_under_the_id_of_a_job_that_is_done_send_nothing(fake: Fake, copy: Path) -> None:
    submit(fake, copy)
    fake.jobs["j"].state = "done"
    fake.seen.clear()
    last = {each.table: each for each in submit(fake, copy)}
    assert fake.count("PUT .*/parts/") == fake.count("POST") == 0
    assert last["reviews"].sent == 0
    assert last["reviews"].parts == len(fake.jobs["j"].tables["reviews"].parts)


def test_another_compression_is_the_same_input(fake: Fake, copy: Path) -> None:
    submit(fake, copy, Settings("zstd", 4096))
    fake.jobs["j"].tables["reviews"].complete = None
    del fake.jobs["j"].tables["reviews"].parts[2]
    assert {each.table: each.sent for each in submit(fake, copy)}["reviews"] == 1


def changed(path: Path, at: int, byte: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        assert file.read(1) != byte
        file.seek(at)
        file.write(byte)


@pytest.mark.parametrize("ended", [True, False])
def test_one_changed_byte_is_named_by_file_and_range(fake: Fake, copy: Path, ended: bool) -> None:
    """A file of equal length: only its content differs."""
    submit(fake, copy)
    job = fake.jobs["j"]
    job.state = "done" if ended else "receiving"
    if not ended:
        held = job.tables["reviews"]
        held.complete = None
        del held.parts[max(held.parts)]
    path = copy / "Books_rating.csv"
    content = path.read_bytes()
    # A letter of a review in the middle, in no way special to CSV.
    at = next(place for place in range(len(content) // 2, len(content)) if content[place : place + 1].islower())
    changed(path, at, b"X")
    with pytest.raises(InputDiffers) as problem:
        submit(fake, copy)
    found = re.search(r"table reviews, file Books_rating.csv, bytes ([\d,]+) to ([\d,]+) \(part", str(problem.value))
    assert found is not None
    first, last = (int(group.replace(",", "")) for group in found.groups())
    assert first <= at < last
    assert "other content of the same size" in str(problem.value)


def test_a_longer_or_shorter_file_is_refused(fake: Fake, copy: Path) -> None:
    submit(fake, copy)
    fake.jobs["j"].state = "done"
    path = copy / "Books_rating.csv"
    content = path.read_bytes()
    parts = len(fake.jobs["j"].tables["reviews"].parts)
    path.write_bytes(content + content.splitlines(keepends=True)[-1] * 30)
    longer = rf"reviews, file Books_rating\.csv, .*(bytes here, and this file gives|only {parts} parts of this table)"
    with pytest.raises(InputDiffers, match=longer):
        submit(fake, copy)
    assert len(fake.jobs["j"].tables["reviews"].parts) == parts
    path.write_bytes(b"".join(content.splitlines(keepends=True)[:3]))
    with pytest.raises(InputDiffers, match=r"table reviews, "):
        submit(fake, copy)


def test_fewer_parts_than_the_job_holds_are_refused(fake: Fake, copy: Path) -> None:
    submit(fake, copy)
    held = fake.jobs["j"].tables["reviews"]
    last = max(held.parts)
    cut_at = len((copy / "Books_rating.csv").read_bytes()) - len(held.parts[last].body)
    with (copy / "Books_rating.csv").open("r+b") as file:
        file.truncate(cut_at)
    with pytest.raises(InputDiffers, match=rf"the job holds more .*: part {last}, from Books_rating\.csv, line"):
        submit(fake, copy)


def test_a_renamed_column_is_refused(fake: Fake, copy: Path) -> None:
    """The header of a file travels beside its parts: no body shows the change."""
    submit(fake, copy)
    path = copy / "books_data.csv"
    header, _, rest = path.read_bytes().partition(b"\n")
    assert b"infoLink" in header
    path.write_bytes(header.replace(b"infoLink", b"infolink") + b"\n" + rest)
    with pytest.raises(InputDiffers, match=r"table books, .*column names"):
        submit(fake, copy)


def test_a_renamed_file_is_refused(fake: Fake, copy: Path) -> None:
    """Rejects name files, so the answer would differ."""
    submit(fake, copy)
    path = copy / "books_data.csv"
    (copy / "books_data.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    with pytest.raises(InputDiffers, match=r"file books_data\.csv\.gz, .* was sent from books_data\.csv, line 2"):
        submit(fake, copy)


@pytest.mark.parametrize("pack", ["gz", "parquet"])
def test_one_changed_cell_of_a_packed_file_is_refused(fake: Fake, copy: Path, pack: str) -> None:
    path = copy / "Books_rating.csv"
    frame = pl.read_csv(path, infer_schema=False)

    def write(rows: pl.DataFrame) -> None:
        if pack == "gz":
            (copy / "Books_rating.csv.gz").write_bytes(gzip.compress(rows.write_csv().encode()))
        else:
            rows.write_parquet(copy / "Books_rating.parquet")

    path.unlink()
    write(frame)
    submit(fake, copy)
    fake.jobs["j"].state = "done"
    submit(fake, copy)
    middle = frame.height // 2
    score = pl.when(pl.int_range(pl.len()) == middle).then(pl.lit("9.9")).otherwise(pl.col("review/score"))
    write(frame.with_columns(score.alias("review/score")))
    with pytest.raises(InputDiffers, match=rf"file Books_rating\.\S*{pack}, (decompressed bytes|rows)"):
        submit(fake, copy)


def test_other_rows_of_a_frame_are_refused(fake: Fake, copy: Path) -> None:
    frame = pl.DataFrame({"Title": ["T"] * 300, "review/score": ["4"] * 300, "review/text": ["good"] * 300})
    other = frame.with_columns(pl.lit("5").alias("review/score"))
    with Service(fake.url) as service:
        for _ in range(2):
            service.submit("books", copy, job="j", tables={"reviews": frame}, wait=False, settings=SMALL)
        with pytest.raises(InputDiffers, match="table reviews, file reviews, rows 1 to"):
            service.submit("books", copy, job="j", tables={"reviews": other}, wait=False, settings=SMALL)


def test_a_receipt_without_digest_is_compared_by_the_gateway(
    fake: Fake, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an older gateway has written it."""
    submit(fake, copy)
    without = {"bytes": 0, "content": "", "size": 0, "form": "", "file": "", "first_line": 0, "columns": ""}
    monkeypatch.setattr("tests.client.fake._receipt", lambda seq, part: {"part": seq, **without})
    submit(fake, copy)
    changed(copy / "Books_rating.csv", -2 + (copy / "Books_rating.csv").stat().st_size, b"X")
    with pytest.raises(InputDiffers, match="it is part-differs"):
        submit(fake, copy)


def test_different_content_of_a_part_is_detected(fake: Fake, books: Path) -> None:
    fake.fail("PUT .*parts/1$", "refuse", status=409, code="part-differs")
    with pytest.raises(InputDiffers, match=r"\(part 1\): it is part-differs\. Send these files under another job id"):
        submit(fake, books)


def test_a_rejected_part_aborts_the_upload(fake: Fake, books: Path) -> None:
    fake.fail("PUT .*reviews/parts/1$", "refuse", status=413, code="part-too-large")
    started = time.monotonic()
    with pytest.raises(Refused) as refusal:
        submit(fake, books, Settings(part_bytes=1024))
    assert refusal.value.code == "part-too-large"
    assert time.monotonic() - started < 10
    assert fake.jobs["j"].tables["reviews"].complete is None


def test_a_concurrently_cancelled_job_is_reported_as_cancelled(fake: Fake, books: Path) -> None:
    fake.fail("PUT .*parts/3$", "refuse", status=409, code="job-over")
    watcher = threading.Thread(target=_cancel_when_there, args=(fake,))
    watcher.start()
    with pytest.raises((JobFailed, Refused), match=r"is cancelled|job-over"):
        submit(fake, books)
    watcher.join()


def _cancel_when_there(fake: Fake) -> None:
    while "j" not in fake.jobs:
        time.sleep(0.001)
    fake.jobs["j"].state = "cancelled"


def test_a_service_that_becomes_unreachable_is_reported_before_the_deadline(books: Path) -> None:
    with Fake() as fake:
        fake.fail("PUT .*parts", "drop", times=9999)
        with pytest.raises(Unreachable):
            submit(fake, books, patience_s=0.3)


def test_no_more_parts_are_under_way_than_the_window_has(fake: Fake, books: Path) -> None:
    """While nothing is acknowledged, no more than the connections carry is sent."""
    fake.fail("PUT .*parts/", "slow", times=4, seconds=0.5)
    done = threading.Thread(target=submit, args=(fake, books))
    done.start()
    time.sleep(0.3)
    assert fake.count("PUT .*parts/") <= 4
    done.join()
    check_whole(fake, books)


@pytest.mark.parametrize("pack", ["gz", "zst"])
def test_compressed_files_are_sent_as_the_same_parts(fake: Fake, books: Path, tmp_path: Path, pack: str) -> None:
    for name in ("books_data.csv", "Books_rating.csv"):
        content = (books / name).read_bytes()
        if pack == "gz":
            (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            with pa.CompressedOutputStream(str(tmp_path / f"{name}.zst"), "zstd") as out:
                out.write(content)
    last = {each.table: each for each in submit(fake, tmp_path)}
    check_whole(fake, books)
    assert last["reviews"].bytes == last["reviews"].total_bytes
    assert {unquote(part.headers["Cauce-File"]) for part in fake.jobs["j"].tables["books"].parts.values()} == {
        f"books_data.csv.{pack}"
    }


def test_bodies_compressed_with_zstd_have_the_same_content(fake: Fake, books: Path) -> None:
    submit(fake, books, Settings("zstd", 4096))
    for table, file in {"books": "books_data.csv", "reviews": "Books_rating.csv"}.items():
        parts = fake.jobs["j"].tables[table].parts
        assert all(part.headers["Content-Encoding"] == "zstd" for part in parts.values())
        unpacked = [pa.CompressedInputStream(io.BytesIO(parts[seq].body), "zstd").read() for seq in sorted(parts)]
        assert b"".join(unpacked) == rows_of(books / file)
        assert sum(len(part.body) for part in parts.values()) < len(rows_of(books / file))


def arrow_of(table: Table) -> pa.Table:
    return pa.concat_tables(pa.ipc.open_stream(table.parts[seq].body).read_all() for seq in sorted(table.parts))


def test_parquet_is_sent_as_arrow_in_slices_with_their_rows(fake: Fake, tmp_path: Path) -> None:
    titles = pl.DataFrame({"Title": [f"T{number}" for number in range(1000)]}).with_columns(
        authors=pl.lit("['A']"),
        publishedDate=pl.lit("2001"),
        categories=pl.lit("['C']"),
        publisher=pl.lit("P"),
        more=pl.lit("x" * 40),
    )
    pq.write_table(titles.to_arrow(), tmp_path / "books_data.parquet", row_group_size=300)
    ratings = pl.DataFrame(schema={"Title": pl.String, "review/score": pl.String, "review/text": pl.String})
    pq.write_table(ratings.to_arrow(), tmp_path / "Books_rating.parquet")
    submit(fake, tmp_path)
    held = fake.jobs["j"].tables["books"]
    assert len(held.parts) > 4
    assert arrow_of(held)["Title"].to_pylist() == titles["Title"].to_list()
    lines = [int(held.parts[seq].headers["Cauce-First-Line"]) for seq in sorted(held.parts)]
    assert lines[0] == 2
    assert 302 in lines
    assert arrow_of(fake.jobs["j"].tables["reviews"]).num_rows == 0
    assert fake.jobs["j"].tables["reviews"].complete == 1


def test_frames_are_sent_in_place_of_files(fake: Fake, books: Path) -> None:
    frame = pl.DataFrame({"Title": ["T"] * 3000, "review/score": ["4"] * 3000, "review/text": ["good"] * 3000})
    with Service(fake.url) as service:
        service.submit("books", books, job="j", tables={"reviews": frame}, wait=False, settings=SMALL)
        with pytest.raises(WrongColumns, match="lacks review/text"):
            service.submit("books", books, tables={"reviews": frame.drop("review/text")}, wait=False)
    held = fake.jobs["j"].tables["reviews"]
    assert len(held.parts) > 3
    assert arrow_of(held).to_pylist() == frame.to_dicts()


def test_a_file_without_rows_is_one_part_without_bytes(fake: Fake, books: Path, tmp_path: Path) -> None:
    (tmp_path / "books_data.csv").write_bytes((books / "books_data.csv").read_bytes())
    (tmp_path / "Books_rating.csv").write_text("Title,review/score,review/text\n")
    submit(fake, tmp_path)
    assert fake.jobs["j"].tables["reviews"].content() == b""
    assert fake.jobs["j"].tables["reviews"].complete == 1


def test_a_header_too_long_for_a_head_travels_in_the_body(fake: Fake, books: Path, tmp_path: Path) -> None:
    extra = [f'col "{number}" ' + "é" * 30 for number in range(200)]
    cells = ",".join('"' + cell.replace('"', '""') + '"' for cell in extra)
    (tmp_path / "books_data.csv").write_bytes((books / "books_data.csv").read_bytes())
    content = f"Title,review/score,review/text,{cells}\n" + ("T,4,good" + "," * 200 + "\n") * 100
    (tmp_path / "Books_rating.csv").write_text(content)
    submit(fake, tmp_path)
    parts = fake.jobs["j"].tables["reviews"].parts
    assert len(parts) > 2
    for part in parts.values():
        assert "Cauce-Columns" not in part.headers
        header = part.body.partition(b"\n")[0].decode()
        assert next(csv.reader([header]))[3:] == extra
        assert header.startswith('"Title","review/score","review/text","col ""0"" ')
    assert int(parts[0].headers["Cauce-First-Line"]) == 2
