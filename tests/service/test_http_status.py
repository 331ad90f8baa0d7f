"""Every answer that the service can give, each in its place, with its stable code."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.service.conftest import Case
from tests.service.running import Piece, Running, digest, until

ONE = {"Content-Type": "text/csv"}
ARROW = "application/vnd.apache.arrow.stream"
BOOK = b"Title,publishedDate,authors,categories,publisher\nT,1995,['A'],['X'],P\n"


def put(
    service: Running, job: str, body: bytes = BOOK, table: str = "books", seq: object = 0, **headers: str
) -> object:
    sent = {"Content-Type": "text/csv", **{name.replace("_", "-"): value for name, value in headers.items()}}
    reply = service.ask("PUT", f"/v1/jobs/{job}/tables/books/parts/{seq}", body, sent)
    return reply.status if reply.status < 300 else reply.what


@pytest.mark.quick
def test_a_job_is_created_once(service: Running) -> None:
    first, again = service.create("once", queries=["q1"]), service.create("once", queries=["q1"])
    assert (first.status, again.status) == (201, 200)
    assert first.json()["job"] == "once"
    assert first.json()["owner"] == "local"
    assert service.create("once", queries=["q2"]).what == (409, "job-exists-otherwise")


@pytest.mark.parametrize("job", ["a b", ".a", "a" * 65, "%2e%2e", "a%00", "%C3%A4", "-a"])
def test_an_invalid_job_id_is_rejected(service: Running, job: str) -> None:
    assert service.create(job).what == (422, "bad-request")


@pytest.mark.parametrize(
    "path", ["/assets/x/nothing", "/v1", "/v1/jobs/", "/v1/jobs/a/", "/v1/jobs/a/b", "/v1/jobs/a%2Fb", "/v2/jobs"]
)
def test_an_unknown_path_is_not_found(service: Running, path: str) -> None:
    assert service.get(path).what == (404, "not-found")


def test_unknown_jobs_tables_and_queries_are_not_found(service: Running, done: str) -> None:
    for path in ("", "/why", "/events", "/rejects", "/results/q1", "/tables/books"):
        assert service.get(f"/v1/jobs/nobody{path}").what == (404, "no-such-job")
    assert service.ask("DELETE", "/v1/jobs/nobody").what == (404, "no-such-job")
    assert put(service, "nobody") == (404, "no-such-job")
    assert service.complete("nobody", "books", 1).what == (404, "no-such-job")
    assert service.get(f"/v1/jobs/{done}/tables/nothing").what == (404, "no-such-table")
    assert service.get(f"/v1/jobs/{done}/results/q9").what == (404, "no-such-query")


def test_a_disallowed_method_is_answered_with_the_allowed_ones(service: Running) -> None:
    reply = service.ask("PATCH", "/v1/jobs/x")
    assert reply.what == (405, "method-not-allowed")
    assert reply.headers["allow"] == "DELETE, GET, PUT"
    assert service.ask("HEAD", "/v1/jobs/x/events").status == 405
    assert service.ask("POST", "/healthz").headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (b"", (400, "bad-request")),
        (b"{", (400, "bad-request")),
        (b"\xff", (400, "bad-request")),
        (b"[" * 100_000, (422, "bad-request")),
        (b'{"dataset":' + b"[" * 100_000, (422, "bad-request")),
        (b"{}", (422, "bad-request")),
        (b'{"dataset": 1}', (422, "bad-request")),
        (b'{"dataset": "books", "querys": []}', (422, "bad-request")),
        (b'{"dataset": "nothing"}', (422, "bad-request")),
        (b'{"dataset": "/etc/passwd"}', (422, "bad-request")),
        (b'{"dataset": "../../x.py"}', (422, "bad-request")),
        (b'{"dataset": "books", "queries": ["q9"]}', (422, "bad-request")),
        (b'{"dataset": "books", "parameters": {"x": "y"}}', (422, "bad-request")),
        (b'{"dataset": "books", "parameters": {"sentiment": "none"}}', (422, "bad-request")),
        (b" " * (2**20 + 1), (413, "body-too-large")),
    ],
)
def test_an_invalid_job_request_is_rejected(service: Running, body: bytes, what: tuple[int, str]) -> None:
    assert service.ask("PUT", "/v1/jobs/never", body, {"Content-Type": "application/json"}).what == what
    assert service.get("/v1/jobs/never").status == 404


def test_a_json_body_of_another_type_is_refused(service: Running) -> None:
    reply = service.ask("PUT", "/v1/jobs/never", b"{}", {"Content-Type": "text/plain"})
    assert reply.what == (415, "unsupported-format")


def test_parts_are_held_once(service: Running) -> None:
    service.create("parts", queries=["q1"])
    assert put(service, "parts") == 201
    assert put(service, "parts") == 200
    assert put(service, "parts", BOOK + b"U,1,['A'],['X'],P\n") == (409, "part-differs")
    assert put(service, "parts", seq=2) == 201
    assert put(service, "parts", seq=3) == 201
    head = service.ask("HEAD", "/v1/jobs/parts/tables/books")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["cauce-parts"] == "0,2-3"
    assert head.headers["cauce-count"] == "3"
    assert head.headers["cauce-bytes"] == str(3 * len(BOOK))
    assert "cauce-complete" not in head.headers
    found = service.get("/v1/jobs/parts/tables/books").json()
    assert found == {"ranges": [[0, 0], [2, 3]], "count": 3, "bytes": 3 * len(BOOK), "complete": None}


def test_a_table_is_completed_with_its_count(service: Running) -> None:
    service.create("count", queries=["q1"])
    assert service.complete("count", "books", 0).what == (422, "bad-request")
    assert service.complete("count", "books", 1).what == (422, "parts-missing")
    put(service, "count", seq=1)
    assert service.complete("count", "books", 2).what == (422, "parts-missing")
    put(service, "count", seq=0)
    assert service.complete("count", "books", 1).what == (409, "count-differs")
    assert service.complete("count", "books", 2).status == 200
    assert service.complete("count", "books", 2).status == 200
    assert service.complete("count", "books", 3).what[0] == 409
    assert service.ask("HEAD", "/v1/jobs/count/tables/books").headers["cauce-complete"] == "2"
    assert put(service, "count", seq=0) == 200
    late = put(service, "count", seq=2)
    assert late in ((409, "table-complete"), (409, "job-over"))


@pytest.mark.parametrize("body", [b"{}", b'{"parts": "1"}', b'{"parts": 1.5}', b'{"parts": 1, "x": 2}', b"[1]"])
def test_an_invalid_count_is_rejected(service: Running, body: bytes) -> None:
    service.create("counts", queries=["q1"])
    path = "/v1/jobs/counts/tables/books/complete"
    assert service.ask("POST", path, body, {"Content-Type": "application/json"}).what == (422, "bad-request")


def test_parts_for_a_job_that_has_ended_are_refused(service: Running, done: str) -> None:
    assert put(service, done, seq=9_999) in ((409, "job-over"), (409, "table-complete"))
    service.create("cancelled", queries=["q1"])
    assert service.ask("DELETE", "/v1/jobs/cancelled").json()["state"] == "cancelled"
    assert service.ask("DELETE", "/v1/jobs/cancelled").json()["state"] == "cancelled"
    assert service.state("cancelled") == "cancelled"
    assert put(service, "cancelled")[0] in (404, 409)  # type: ignore[index]


@pytest.mark.parametrize("seq", ["x", "-1", "1.0", "1e3", "%20", "9" * 30, "0x1", "²"])
def test_an_invalid_number_is_rejected(service: Running, seq: str) -> None:
    service.create("numbers", queries=["q1"])
    assert put(service, "numbers", seq=seq) == (400, "bad-request")


def test_a_number_above_the_limit_is_rejected(service: Running) -> None:
    service.create("numbers", queries=["q1"])
    assert put(service, "numbers", seq=2**62) == (422, "bad-request")


@pytest.mark.parametrize(
    ("headers", "what"),
    [
        ({"Content-Type": "application/pdf"}, (415, "unsupported-format")),
        ({"Content-Type": ""}, (415, "unsupported-format")),
        ({"Content-Type": "text/csv; charset=latin-1"}, (415, "unsupported-format")),
        ({"Content-Encoding": "br"}, (415, "unsupported-format")),
        ({"Content-Encoding": "gzip, zstd"}, (415, "unsupported-format")),
        ({"Content-Encoding": "gzip"}, (422, "bad-part")),
        ({"Content-Encoding": "zstd"}, (422, "bad-part")),
        (
            {"Content-Type": "application/vnd.apache.arrow.stream", "Content-Encoding": "gzip"},
            (415, "unsupported-format"),
        ),
        ({"Content-Type": "application/vnd.apache.arrow.stream"}, (422, "bad-part")),
        ({"Content-Type": "application/vnd.apache.parquet"}, (422, "bad-part")),
        ({"Content-Digest": digest(b"another")}, (422, "bad-part")),
        ({"Content-Digest": "sha-256=:short:"}, (400, "bad-request")),
        ({"Content-Digest": "nonsense"}, (400, "bad-request")),
        ({"Cauce-File": "%FF"}, (400, "bad-request")),
        ({"Cauce-File": "a%00b"}, (400, "bad-request")),
        ({"Cauce-First-Line": "x"}, (400, "bad-request")),
        ({"Cauce-First-Line": "-1"}, (400, "bad-request")),
        ({"Cauce-Columns": "x"}, (400, "bad-request")),
        ({"Cauce-Columns": "%5B1%5D"}, (400, "bad-request")),
        ({"Cauce-Columns": "%5B%22a%22%5D"}, (422, "bad-part")),
    ],
)
def test_a_part_that_contradicts_its_headers_is_rejected(
    service: Running, headers: dict[str, str], what: tuple[int, str]
) -> None:
    service.create("wrong", queries=["q1"])
    sent = {"Content-Type": "text/csv", **headers}
    assert service.ask("PUT", "/v1/jobs/wrong/tables/books/parts/0", BOOK, sent).what == what
    assert service.get("/v1/jobs/wrong/tables/books").json()["count"] == 0


def test_a_compressed_part_with_its_digest_is_accepted(service: Running) -> None:
    service.create("packed", queries=["q1"])
    body = gzip.compress(BOOK)
    assert put(service, "packed", body, Content_Encoding="gzip", Content_Digest=digest(body)) == 201
    both = f"sha-512=:AAAA:, {digest(body)}"
    assert put(service, "packed", body, Content_Encoding="gzip", Content_Digest=both) == 200


def test_a_reference_to_a_file_outside_the_allowed_directories_is_rejected(service: Running) -> None:
    service.create("refers", queries=["q1"])
    reference = json.dumps({"path": "/etc/passwd", "start": 0, "end": 10, "first_line": 2, "header": ["a"]}).encode()
    headers = {"Content-Type": "application/vnd.cauce.reference+json"}
    reply = service.ask("PUT", "/v1/jobs/refers/tables/books/parts/0", reference, headers)
    assert 400 <= reply.status < 500
    assert b"root:" not in reply.body


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A gateway with low limits, and no workers behind it."""
    folder = tmp_path_factory.mktemp("strict")
    limits = {
        "part_bytes": 1000,
        "decompressed_bytes": 2000,
        "jobs": 4,
        "jobs_per_owner": 3,
        "backlog_bytes": 1500,
        "receiving_seconds": 3,
        "requests": 20,
    }
    options = [word for name, value in limits.items() for word in ("--limit", f"{name}={value}")]
    with Running(folder, "gateway", *options) as running:
        yield running


def test_a_part_beyond_the_limit_is_too_large(strict: Running) -> None:
    strict.create("large", queries=["q1"])
    whole = b"x" * 1001
    for body in (whole, iter([whole[:600], whole[600:]])):
        reply = strict.ask("PUT", "/v1/jobs/large/tables/books/parts/0", body, ONE)
        assert reply.what == (413, "part-too-large")
    bomb = gzip.compress(BOOK + b"T,1995,['A'],['X'],P\n" * 200)
    assert len(bomb) < 1000
    reply = strict.ask("PUT", "/v1/jobs/large/tables/books/parts/0", bomb, {**ONE, "Content-Encoding": "gzip"})
    assert reply.what == (413, "part-too-large")
    strict.ask("DELETE", "/v1/jobs/large")


def test_uploads_are_throttled_while_workers_lag_behind(strict: Running) -> None:
    strict.create("fast", queries=["q1"])
    body = BOOK + b"T,1995,['A'],['X'],P\n" * 40
    replies = [strict.ask("PUT", f"/v1/jobs/fast/tables/books/parts/{seq}", body, ONE) for seq in range(5)]
    assert replies[0].status == 201
    assert replies[-1].what == (429, "slow-down")
    assert int(replies[-1].headers["retry-after"]) >= 1
    strict.ask("DELETE", "/v1/jobs/fast")


def test_too_many_jobs_are_refused(strict: Running) -> None:
    assert [strict.create(f"many-{number}", queries=["q1"]).status for number in range(3)] == [201] * 3
    reply = strict.create("many-3", queries=["q1"])
    assert reply.what == (429, "too-many-jobs")
    assert int(reply.headers["retry-after"]) >= 1
    # An idle job is expired to make room.
    until("the end of forgotten jobs", lambda: strict.state("many-0") == "expired", 30)
    until("room for another job", lambda: strict.create("many-3", queries=["q1"]).status == 201, 30)
    # The event is logged after the tombstone is visible.
    until("the event is logged", lambda: "many-0" in {event["job"] for event in strict.events("job expired")}, 30)


def replaced_by_a_file(folder: Path) -> bool:
    """Threads of the gateway that start only now create the folder again."""
    with suppress(FileNotFoundError):
        folder.rmdir()
    try:
        folder.write_text("in the way")
    except IsADirectoryError:
        return False
    return True


def test_a_missing_directory_makes_the_service_unavailable(tmp_path: Path) -> None:
    with Running(tmp_path, "gateway") as gateway:
        assert gateway.get("/readyz").status == 200
        jobs = gateway.folder / "jobs"
        until("a file in the way", lambda: replaced_by_a_file(jobs))
        assert gateway.get("/healthz").status == 200
        assert gateway.get("/readyz").what == (503, "unavailable")
        assert gateway.create("lost").what == (503, "unavailable")
        assert gateway.create("lost").headers["retry-after"]
        jobs.unlink()
        jobs.mkdir()
        assert gateway.get("/readyz").status == 200
        assert gateway.create("lost").status == 201


def test_why_is_one_sentence(service: Running) -> None:
    service.create("why", queries=["q1"])
    reason = service.get("/v1/jobs/why/why").json()["why"]
    assert isinstance(reason, str)
    assert "books" in reason
    assert "\n" not in reason


def test_the_list_has_the_jobs(service: Running, done: str, case: Case) -> None:
    jobs = service.get("/v1/jobs").json()["jobs"]
    assert isinstance(jobs, list)
    by_id = {job["job"]: job for job in jobs}
    assert by_id[done]["state"] == "done"
    assert by_id[done]["tables"]["books"]["rejects"] == 2
    sent = sum(piece.table == "reviews" for piece in case.pieces)
    assert by_id[done]["tables"]["reviews"]["parts"] == sent


def test_pieces_in_any_order_with_repeats_give_the_same_answer(service: Running, case: Case) -> None:
    service.create("shuffled", queries=["q3"])
    pieces: list[Piece] = [*case.pieces[::-1], *case.pieces[::2]]
    for piece in pieces:
        assert service.put("shuffled", piece).status in (200, 201)
    for table in ("reviews", "books"):
        service.complete("shuffled", table, sum(piece.table == table for piece in case.pieces))
    service.wait_done("shuffled")
    assert service.get("/v1/jobs/shuffled/results/q3").body == case.wanted["q3"]


def test_jobs_are_listed_by_pages(service: Running) -> None:
    for number in range(3):
        assert service.create(f"page-{number}", queries=["q1"]).status in (200, 201)
    listed = service.get("/v1/jobs").json()
    assert listed["next"] is None
    found: list[object] = []
    path = "/v1/jobs?limit=2"
    while True:
        page = service.get(path).json()
        assert isinstance(page["jobs"], list)
        assert 1 <= len(page["jobs"]) <= 2
        found += [each["job"] for each in page["jobs"]]
        if page["next"] is None:
            break
        path = f"/v1/jobs?limit=2&cursor={page['next']}"
    assert isinstance(listed["jobs"], list)
    assert found == [each["job"] for each in listed["jobs"]]


@pytest.mark.parametrize("asked", ["limit=0", "limit=1001", "limit=x", "cursor=x", "cursor=1:../x"])
def test_invalid_page_parameters_of_the_job_list_are_rejected(service: Running, asked: str) -> None:
    reply = service.get(f"/v1/jobs?{asked}")
    assert reply.status in (400, 422)
    assert reply.code == "bad-request"
