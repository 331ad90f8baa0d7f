"""Answers and rejects over HTTP: page by page, by long poll, and whole in every form."""

from __future__ import annotations

import csv
import io
import json
import threading

import pytest

from tests.service.conftest import QUERIES, Case
from tests.service.running import Running, until

MEDIA = {
    "csv": "text/csv",
    "json": "application/json",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
}


def test_whole_answers_equal_the_oracle(service: Running, done: str, case: Case) -> None:
    for query in QUERIES:
        reply = service.get(f"/v1/jobs/{done}/results/{query}", "text/csv")
        assert (reply.status, reply.headers["content-type"]) == (200, "text/csv")
        assert reply.body == case.wanted[query]


@pytest.mark.parametrize("form", sorted(MEDIA))
def test_each_format_is_byte_identical_to_a_local_run(service: Running, done: str, case: Case, form: str) -> None:
    written = case.written(form)
    for query in QUERIES:
        assert service.get(f"/v1/jobs/{done}/results/{query}", MEDIA[form]).body == written[query]


def test_arrow_is_sent_with_its_media_type(service: Running, done: str) -> None:
    for asked in ("application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.file"):
        reply = service.get(f"/v1/jobs/{done}/results/q3", asked)
        assert reply.headers["content-type"] == "application/vnd.apache.arrow.file"
        assert reply.body[:6] == b"ARROW1"


def test_any_form_will_do_means_csv(service: Running, done: str, case: Case) -> None:
    assert service.get(f"/v1/jobs/{done}/results/q1").body == case.wanted["q1"]


def test_an_unknown_format_is_not_acceptable(service: Running, done: str) -> None:
    assert service.get(f"/v1/jobs/{done}/results/q1", "image/png").what == (406, "not-acceptable")
    assert service.get(f"/v1/jobs/{done}/results/q1?limit=1", "text/csv").what == (406, "not-acceptable")
    assert service.get(f"/v1/jobs/{done}/rejects", "application/vnd.apache.parquet").what == (406, "not-acceptable")
    assert service.get(f"/v1/jobs/{done}/events", "text/csv").what == (406, "not-acceptable")


def test_pages_of_any_size_add_up_to_the_whole_answer(service: Running, done: str) -> None:
    whole = json.loads(service.get(f"/v1/jobs/{done}/results/q1", "application/json").body)
    for limit in (1, 7, 100_000):
        rows: list[dict[str, object]] = []
        cursor = ""
        while True:
            page = service.get(f"/v1/jobs/{done}/results/q1?limit={limit}{cursor}").json()
            assert page["complete"] is True
            assert isinstance(page["rows"], list)
            assert isinstance(page["columns"], list)
            assert len(page["rows"]) <= limit
            rows += [dict(zip(page["columns"], row, strict=True)) for row in page["rows"]]
            if page["next"] is None:
                break
            cursor = f"&cursor={page['next']}"
        assert rows == whole


def test_numbers_of_a_page_have_all_their_digits(service: Running, done: str) -> None:
    whole = service.get(f"/v1/jobs/{done}/results/q4", "application/json").body
    page = service.get(f"/v1/jobs/{done}/results/q4?limit=100").body
    rows = json.loads(page, parse_float=str)["rows"]
    assert rows == [list(row.values()) for row in json.loads(whole, parse_float=str)]


def test_rejects_are_those_of_a_run(service: Running, done: str, case: Case) -> None:
    whole = service.get(f"/v1/jobs/{done}/rejects", "text/csv").body
    assert whole == case.wanted["rejects"]
    lines = list(csv.reader(io.StringIO(whole.decode())))
    page = service.get(f"/v1/jobs/{done}/rejects?limit=1").json()
    assert page["columns"] == lines[0]
    assert page["next"] is not None
    everything = service.get(f"/v1/jobs/{done}/rejects", "application/json").json()
    assert isinstance(everything["rows"], list)
    assert len(everything["rows"]) == len(lines) - 1


@pytest.mark.parametrize(
    "asked", ["limit=0", "limit=x", "limit=1e3", "limit=100001", "limit=-1", "wait=-1", "wait=31", "wait=nan", "wait=x"]
)
def test_invalid_page_parameters_are_a_bad_request(service: Running, done: str, asked: str) -> None:
    assert service.get(f"/v1/jobs/{done}/results/q1?{asked}").what == (400, "bad-request")


@pytest.mark.parametrize("cursor", ["x", "-1.0", "1", "../..", "%00", "1" * 501, "9999999999999.0"])
def test_an_invalid_cursor_is_rejected(service: Running, done: str, cursor: str) -> None:
    reply = service.get(f"/v1/jobs/{done}/results/q1?cursor={cursor}")
    assert reply.status in (400, 422)
    assert reply.code == "bad-request"


def test_a_whole_answer_is_too_early_until_it_is_complete(service: Running) -> None:
    service.create("early", queries=["q1"])
    assert service.get("/v1/jobs/early/results/q1").what == (425, "too-early")
    assert service.get("/v1/jobs/early/results/q1").headers["retry-after"]
    assert service.get("/v1/jobs/early/rejects").what == (425, "too-early")
    page = service.get("/v1/jobs/early/results/q1?limit=10").json()
    assert (page["rows"], page["complete"]) == ([], False)
    assert page["next"] is not None


def test_a_long_poll_ends_without_rows_after_its_time(service: Running) -> None:
    service.create("patient", queries=["q1"])
    page = service.get("/v1/jobs/patient/results/q1?wait=0.3").json()
    assert (page["rows"], page["complete"]) == ([], False)


def test_a_long_poll_gives_rows_when_they_come(service: Running, case: Case) -> None:
    service.create("poll", queries=["q1"])
    pages: list[dict[str, object]] = []

    def poll() -> None:
        cursor = ""
        while not pages or pages[-1]["next"] is not None:
            pages.append(service.get(f"/v1/jobs/poll/results/q1?limit=5&wait=30{cursor}").json())
            cursor = f"&cursor={pages[-1]['next']}"

    poller = threading.Thread(target=poll)
    poller.start()
    service.upload("poll", [piece for piece in case.pieces if piece.table == "books"])
    poller.join(60)
    assert not poller.is_alive()
    rows = [row for page in pages for row in page["rows"]]  # type: ignore[attr-defined]
    assert len(rows) == case.wanted["q1"].count(b"\n") - 1
    # It waited: a poll that came back empty each time would have come back often.
    assert sum(not page["rows"] for page in pages) <= 3


def test_a_long_poll_ends_when_its_job_is_cancelled(service: Running) -> None:
    service.create("given-up", queries=["q1"])
    replies: list[int] = []
    poller = threading.Thread(target=lambda: replies.append(service.get("/v1/jobs/given-up/results/q1?wait=30").status))
    poller.start()
    assert service.ask("DELETE", "/v1/jobs/given-up").status == 200
    until("the end of the poll", lambda: bool(replies), 20)
    poller.join()
    assert replies[0] in (200, 404, 409)
