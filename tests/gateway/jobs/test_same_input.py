"""A job id and the number of a part stand for one input: a repetition is accepted, anything else is rejected and the
difference is named, also after the job has ended and its raw data has been released."""

from __future__ import annotations

import gzip
import hashlib
import os
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from cauce.api.jobs import JobRequest
from cauce.gateway.errors import JobExistsOtherwise, PartDiffers
from cauce.gateway.jobs.job_service import Jobs
from cauce.gateway.model import PartBody
from tests.gateway.serving import JOB, OWNER, World, run_to_end, zstd

HEADER = "Title,authors,publisher,publishedDate,categories"
ROWS = b"T,['A'],P,1995,['X']\nU,['B'],P,2001,['X']\n"
COLUMNS = tuple(HEADER.split(","))
ONE = JobRequest("books", ["q1"])
PART = PartBody(ROWS, "csv", file="books_data.csv", first_line=2, columns=COLUMNS)
LINES = b'{"Title": "T", "authors": "A", "publisher": "P", "publishedDate": "1995", "categories": "X"}\n'
NDJSON = PartBody(LINES, "ndjson", file="books.ndjson")


def ended(world: World, part: PartBody) -> Jobs:
    """A gateway that has read only the logs of a done job."""
    jobs = world.gateway()
    jobs.create(OWNER, JOB, ONE)
    jobs.uploads.put_part(OWNER, JOB, "books", 0, part)
    jobs.uploads.complete(OWNER, JOB, "books", 1)
    assert run_to_end(jobs, world.worker()).state == "done"
    world.clock.now += 60
    jobs.sweep()
    return world.gateway()


OTHER = {
    "as many bytes": (replace(PART, data=ROWS.replace(b"1995", b"1996")), "42 bytes as before, but with other content"),
    "more bytes": (replace(PART, data=ROWS + ROWS), "42 bytes before, 84 now"),
    "another file": (replace(PART, file="other.csv"), "file books_data.csv before, other.csv now"),
    "another line": (replace(PART, first_line=3), "first line 2 before, 3 now"),
    "other columns": (replace(PART, columns=(*COLUMNS[:4], "Categories")), "other column names of books_data.csv"),
    "another format": (NDJSON, "form csv before, ndjson now"),
    "compressed": (replace(PART, data=gzip.compress(ROWS * 2), compression="gzip"), "42 bytes before, 84 now"),
}


@pytest.mark.parametrize("name", OTHER)
def test_other_content_is_refused_after_the_end(lone: World, name: str) -> None:
    other, difference = OTHER[name]
    with pytest.raises(PartDiffers, match=r"part 0 of table books was sent before with other content") as problem:
        ended(lone, PART).uploads.put_part(OWNER, JOB, "books", 0, other)
    assert f"({difference})" in str(problem.value)


@pytest.mark.parametrize("part", [PART, NDJSON], ids=["csv", "ndjson"])
def test_the_same_content_is_accepted_after_the_end_however_it_is_compressed(lone: World, part: PartBody) -> None:
    jobs = ended(lone, part)
    for data, compression in ((part.data, ""), (gzip.compress(part.data), "gzip"), (zstd(part.data), "zstd")):
        again = replace(part, data=data, compression=compression)  # type: ignore[arg-type]
        assert not jobs.uploads.put_part(OWNER, JOB, "books", 0, again)


def test_receipts_are_listed_after_the_end(world: World) -> None:
    part = replace(PART, data=gzip.compress(ROWS), compression="gzip")
    found = ended(world, part).uploads.parts(OWNER, JOB, "books", 0, 10)
    (receipt,) = found.parts
    assert (found.next, found.complete) == (None, 1)
    assert (receipt.content, receipt.size) == (hashlib.sha256(ROWS).hexdigest(), len(ROWS))
    assert (receipt.bytes, receipt.file, receipt.first_line) == (len(part.data), "books_data.csv", 2)


def test_receipts_are_listed_by_pages(lone: World) -> None:
    jobs = lone.gateway()
    jobs.create(OWNER, JOB, ONE)
    for seq in (4, 0, 9, 2):
        jobs.uploads.put_part(OWNER, JOB, "books", seq, PART)
    first = jobs.uploads.parts(OWNER, JOB, "books", 0, 3)
    assert ([each.part for each in first.parts], first.next) == ([0, 2, 4], 9)
    last = jobs.uploads.parts(OWNER, JOB, "books", 9, 3)
    assert ([each.part for each in last.parts], last.next) == ([9], None)


def reference(path: Path) -> PartBody:
    size = path.stat().st_size
    start = len(HEADER) + 1
    body = {"path": str(path), "start": start, "end": size, "first_line": 2, "header": COLUMNS}
    return PartBody(msgspec.json.encode(body), "reference")


@pytest.mark.parametrize("change", ["longer", "modified"])
def test_a_reference_to_a_file_that_has_changed_is_refused(lone: World, tmp_path: Path, change: str) -> None:
    path = tmp_path / "books_data.csv"
    path.write_bytes(HEADER.encode() + b"\n" + ROWS)
    jobs = lone.gateway(references=(tmp_path,))
    jobs.create(OWNER, JOB, ONE)
    part = reference(path)
    assert jobs.uploads.put_part(OWNER, JOB, "books", 0, part)
    assert not jobs.uploads.put_part(OWNER, JOB, "books", 0, part)
    before = path.stat()
    if change == "longer":
        path.write_bytes(path.read_bytes() + ROWS)
        named = f"the file had {before.st_size:,} bytes and has {before.st_size + len(ROWS):,} now"
    else:
        path.write_bytes(path.read_bytes().replace(b"1995", b"1996"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000))
        named = "the file has been modified since"
    with pytest.raises(PartDiffers, match=named):
        jobs.uploads.put_part(OWNER, JOB, "books", 0, part)


@pytest.mark.parametrize(
    ("asked", "difference"),
    [
        (JobRequest("coffee"), "dataset books, not coffee"),
        (JobRequest("books", ["q2", "q3"]), "queries q5, not q2, q3"),
        (JobRequest("books", ["q5"], {"sentiment": "textblob"}), "sentiment=vader, not sentiment=textblob"),
    ],
)
@pytest.mark.parametrize("cancelled", [True, False])
def test_another_request_under_a_job_id_names_the_difference(
    lone: World, asked: JobRequest, difference: str, cancelled: bool
) -> None:
    jobs = lone.gateway()
    jobs.create(OWNER, JOB, JobRequest("books", ["q5"]))
    if cancelled:
        jobs.cancel(OWNER, JOB)
    with pytest.raises(JobExistsOtherwise, match=f"job {JOB} was created with .*{difference}"):
        lone.gateway().create(OWNER, JOB, asked)
