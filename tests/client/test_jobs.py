"""Jobs as Python sees them: waiting, pages, ends, names."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from decimal import Decimal

import polars as pl
import pytest

import cauce
from cauce.api.names import check_job
from cauce.client import Job, Service
from cauce.client.frames import frame_of
from cauce.client.results import Page
from cauce.client.submission import new_job
from cauce.errors import JobFailed, RefusedRequest, UsageError
from cauce.plan import DATE, FLOAT, INTEGER, TEXT, TEXT_LIST, decimal
from tests.client.fake import Fake, FakeJob


@pytest.fixture
def fake() -> Iterator[Fake]:
    with Fake() as running:
        running.jobs["j"] = FakeJob({"dataset": "own", "queries": []})
        yield running


@pytest.fixture
def job(fake: Fake) -> Iterator[Job]:
    with cauce.connect(fake.url) as service:
        yield service.job("j")


def test_waiting_ends_with_the_job(fake: Fake, job: Job) -> None:
    threading.Timer(0.3, lambda: setattr(fake.jobs["j"], "state", "done")).start()
    seen: list[str] = []
    assert job.wait(lambda status: seen.append(status.state)).state == "done"
    assert seen[0] == "receiving"
    assert seen[-1] == "done"


def test_waiting_continues_after_an_interrupted_event_stream(fake: Fake, job: Job) -> None:
    fake.fail("GET .*events", "torn", times=2)
    fake.fail("GET .*events", "drop", times=2)
    threading.Timer(0.5, lambda: setattr(fake.jobs["j"], "state", "done")).start()
    assert job.wait().state == "done"


@pytest.mark.parametrize("state", ["failed", "cancelled", "expired"])
def test_any_other_end_is_raised_with_its_cause(fake: Fake, job: Job, state: str) -> None:
    fake.jobs["j"].state, fake.jobs["j"].cause = state, "the milk was sour"
    with pytest.raises(JobFailed, match=f"job j is {state}: the milk was sour"):
        job.wait()


def test_pages_come_one_after_the_other_and_hold_every_row_once(fake: Fake, job: Job) -> None:
    fake.jobs["j"].answers["q1"] = [[number, f"{number}"] for number in range(25)]
    pages = list(job.pages("q1", limit=10))
    assert [page.height for page in pages] == [10, 10, 5]
    assert pl.concat(pages)["a"].to_list() == list(range(25))


def test_an_answer_without_rows_is_one_page_with_its_columns(fake: Fake, job: Job) -> None:
    fake.jobs["j"].answers["q1"] = []
    (page,) = job.pages("q1")
    assert (page.height, page.columns) == (0, ["a", "b"])


def test_a_page_has_the_types_that_the_query_declares() -> None:
    page = Page(
        ["t", "n", "p", "d", "f", "l"],
        [["x", 1, Decimal("2.50"), "2024-02-29", Decimal("0.1"), ["a", "b"]], [None, None, None, None, None, None]],
    )
    columns = {"t": TEXT, "n": INTEGER, "p": decimal(2), "d": DATE, "f": FLOAT, "l": TEXT_LIST}
    frame = frame_of(page, columns)
    assert frame.schema == {name: output.dtype for name, output in columns.items()}
    assert [columns[name].text(frame[name])[0] for name in columns] == ["x", "1", "2.50", "2024-02-29", "0.1", "a; b"]
    assert frame.row(1) == (None,) * 6


def test_the_jobs_are_listed(fake: Fake) -> None:
    with Service(fake.url) as service:
        assert [each.job for each in service.jobs()] == ["j"]


def test_cancel_and_why(fake: Fake, job: Job) -> None:
    assert job.why() == "waits for the test"
    assert job.cancel().state == "cancelled"
    assert job.cancel().state == "cancelled"


def test_an_unknown_job_is_reported(fake: Fake) -> None:
    with Service(fake.url) as service, pytest.raises(RefusedRequest):
        service.job("none").status()


@pytest.mark.parametrize("name", ["", "-a", ".a", "a/b", "a b", "ñ", "a" * 65, "a\n"])
def test_an_invalid_job_id_is_rejected_by_the_client(name: str) -> None:
    with pytest.raises(UsageError, match="invalid job id"):
        check_job(name)


@pytest.mark.parametrize("dataset", ["books", "my shop", "ñandú", "-", "x" * 100])
def test_a_new_name_is_a_name(dataset: str) -> None:
    assert check_job(new_job(dataset)) != new_job(dataset)


def test_connecting_sends_nothing() -> None:
    started = time.monotonic()
    cauce.connect(["http://127.0.0.1:1", "http://127.0.0.1:2"]).close()
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("size", [1, 2, 5])
def test_all_pages_of_the_list_of_jobs_are_read(fake: Fake, size: int) -> None:
    fake.page_jobs = size
    for number in range(4):
        fake.jobs[f"job-{number}"] = FakeJob({"dataset": "own", "queries": []})
    with cauce.connect(fake.url) as service:
        assert [status.job for status in service.jobs()] == ["j", "job-0", "job-1", "job-2", "job-3"]
