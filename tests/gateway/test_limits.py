"""Limits: number of jobs, unread bytes, stored bytes, and files that clients may reference."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from cauce.api.jobs import JobRequest
from cauce.gateway.errors import BadPart, PartTooLarge, ServiceError, SlowDown, TooManyJobs
from cauce.gateway.model import PartBody
from tests.e2e.comparing import assert_same
from tests.gateway.serving import JOB, OWNER, Sent, World, answers, cut, run_to_end, send

HEADER = b"Title,authors,publisher,publishedDate,categories\n"
ONE = JobRequest("books", ["q1"])


def test_open_jobs_per_owner_are_limited(world: World, sent: Sent) -> None:
    jobs = world.gateway(jobs_per_owner=2, jobs=3)
    send(jobs, sent, "a")
    jobs.create(OWNER, "b", ONE)
    with pytest.raises(TooManyJobs) as problem:
        jobs.create(OWNER, "c", ONE)
    assert problem.value.status == 429
    assert problem.value.retry_after
    assert not jobs.create(OWNER, "b", ONE)[1]
    jobs.create("eva", "c", ONE)
    with pytest.raises(TooManyJobs):
        jobs.create("ana", "d", ONE)
    run_to_end(jobs, world.worker(), "a")
    assert jobs.create("ana", "d", ONE)[1]
    jobs.cancel("ana", "d")
    assert jobs.create(OWNER, "c", ONE)[1]


def test_all_jobs_per_owner_are_limited(lone: World, sent: Sent) -> None:
    jobs, worker = lone.gateway(kept_jobs_per_owner=2), lone.worker()
    for job in ("a", "b"):
        send(jobs, sent, job, "eva")
        run_to_end(jobs, worker, job, "eva")
    with pytest.raises(TooManyJobs, match="ended ones included"):
        jobs.create("eva", "c", ONE)
    assert jobs.create("ana", "c", ONE)[1]
    jobs.cancel("eva", "a")
    assert jobs.create("eva", "c", ONE)[1]


def test_only_the_total_limits_ended_jobs_without_a_token(lone: World) -> None:
    jobs = lone.gateway(kept_jobs_per_owner=1)
    assert jobs.create(OWNER, "a", ONE)[1]
    assert jobs.create(OWNER, "b", ONE)[1]


def test_a_client_that_is_faster_than_the_workers_is_throttled(world: World, sent: Sent) -> None:
    jobs, worker = world.gateway(backlog_bytes=2_000), world.worker()
    jobs.create(OWNER, JOB, sent.request)
    slowed = 0
    for table, seq, body in sent.each():
        for _ in range(1000):
            try:
                jobs.uploads.put_part(OWNER, JOB, table, seq, body)
                break
            except SlowDown:
                slowed += 1
                worker.step()
        else:
            pytest.fail("slowed down for ever")
        if seq == len(sent.tables[table]) - 1:
            jobs.uploads.complete(OWNER, JOB, table, seq + 1)
    assert slowed
    run_to_end(jobs, worker)


@pytest.mark.slow
def test_tables_may_come_in_any_order_even_beyond_the_backlog(
    world: World, sent: Sent, wanted: dict[str, bytes]
) -> None:
    """Reviews wait for books: throttling them would block the upload forever."""
    jobs, worker = world.gateway(backlog_bytes=2_000), world.worker()
    jobs.create(OWNER, JOB, sent.request)
    for table in ("reviews", "books"):
        for seq, body in enumerate(sent.tables[table]):
            for _ in range(1000):
                try:
                    jobs.uploads.put_part(OWNER, JOB, table, seq, body)
                    break
                except SlowDown:
                    assert worker.step(), "deadlock: the client is throttled and no worker can proceed"
        jobs.uploads.complete(OWNER, JOB, table, len(sent.tables[table]))
    run_to_end(jobs, worker)
    assert_same(answers(jobs), wanted)


def test_stored_bytes_of_all_jobs_are_limited(world: World, sent: Sent) -> None:
    jobs = world.gateway(held_bytes=1_500)
    jobs.create(OWNER, "a", sent.request)
    jobs.create(OWNER, "b", sent.request)
    for seq in range(2):
        jobs.uploads.put_part(OWNER, "a", "books", seq, sent.tables["books"][seq])
    jobs.sweep()
    with pytest.raises(SlowDown):
        jobs.uploads.put_part(OWNER, "b", "books", 0, sent.tables["books"][0])
    jobs.cancel(OWNER, "a")
    jobs.sweep()
    assert jobs.uploads.put_part(OWNER, "b", "books", 0, sent.tables["books"][0])


def test_bytes_and_lines_of_a_part_are_limited(lone: World) -> None:
    jobs = lone.gateway(part_bytes=1_000, decompressed_bytes=2_000, part_lines=20)
    jobs.create(OWNER, JOB, ONE)
    with pytest.raises(PartTooLarge, match="1000"):
        jobs.uploads.put_part(OWNER, JOB, "books", 0, PartBody(HEADER + b"x" * 1000, "csv"))
    with pytest.raises(PartTooLarge, match="20 lines"):
        jobs.uploads.put_part(OWNER, JOB, "books", 0, PartBody(HEADER + b"\n" * 21, "csv"))
    assert jobs.uploads.put_part(OWNER, JOB, "books", 0, PartBody(HEADER + b"\n" * 19, "csv"))


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    folder = tmp_path / "allowed"
    folder.mkdir()
    return folder


def reference(named: object, **changed: object) -> PartBody:
    fields = {"path": str(named), "start": 0, "end": 5, "first_line": 2, "header": HEADER.decode().strip().split(",")}
    return PartBody(msgspec.json.encode({**fields, **changed}), "reference")


def test_references_give_the_same_answers(
    lone: World, books: Path, wanted: dict[str, bytes], sent: Sent, tmp_path: Path
) -> None:
    jobs = lone.gateway(references=(tmp_path, books))
    tables: dict[str, list[PartBody]] = {}
    for table, bodies in sent.tables.items():
        tables[table] = []
        at: dict[str, int] = {}
        for body in bodies:
            path = books / body.file
            start = path.read_bytes().index(body.data, at.get(body.file, 0))
            at[body.file] = start + len(body.data)
            fields = {"path": str(path), "start": start, "end": at[body.file], "first_line": body.first_line}
            data = msgspec.json.encode({**fields, "header": body.columns})
            tables[table].append(PartBody(data, "reference", file=body.file))
    send(jobs, Sent(sent.dataset, sent.queries, tables))
    assert run_to_end(jobs, lone.worker()).state == "done"
    assert_same(answers(jobs), wanted)


def test_only_files_below_allowed_folders_may_be_named(lone: World, allowed: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_bytes(HEADER)
    (tmp_path / "allowed-not").mkdir()
    (tmp_path / "allowed-not" / "x.csv").write_bytes(HEADER)
    (allowed / "good.csv").write_bytes(HEADER)
    (allowed / "link.csv").symlink_to(secret)
    (allowed / "folder").symlink_to(tmp_path)
    (allowed / "folder.csv").mkdir()
    os.mkfifo(allowed / "pipe.csv")
    jobs = lone.gateway(references=(allowed,))
    jobs.create(OWNER, JOB, ONE)
    messages = set()
    for path in (
        secret,
        allowed / ".." / "secret.csv",
        f"{allowed}/../allowed-not/x.csv",
        f"{allowed}-not/x.csv",
        allowed / "link.csv",
        allowed / "folder" / "secret.csv",
        "/etc/passwd",
        "/no/such/file",
        "good.csv",
        "",
        f"{allowed}/good.csv\0",
        f"{allowed}/{'x' * 5000}/../../secret.csv",
    ):
        with pytest.raises(BadPart) as problem:
            jobs.uploads.put_part(OWNER, JOB, "books", 0, reference(path))
        messages.add(str(problem.value))
    # The errors do not reveal which of them exist.
    assert len(messages) == 1
    for path in (allowed / "missing.csv", allowed, allowed / "folder.csv", allowed / "pipe.csv"):
        with pytest.raises(BadPart):
            jobs.uploads.put_part(OWNER, JOB, "books", 0, reference(path))
    assert jobs.uploads.put_part(OWNER, JOB, "books", 0, reference(allowed / "good.csv"))


def test_without_allowed_folders_no_file_may_be_named(lone: World, allowed: Path) -> None:
    (allowed / "good.csv").write_bytes(HEADER)
    jobs = lone.gateway()
    jobs.create(OWNER, JOB, ONE)
    with pytest.raises(BadPart):
        jobs.uploads.put_part(OWNER, JOB, "books", 0, reference(allowed / "good.csv"))


@pytest.mark.parametrize(
    "changed",
    [
        {"start": -1},
        {"end": 10_000},
        {"start": 6, "end": 5},
        {"first_line": 0},
        {"first_line": 2**70},
        {"start": 2**70},
        {"start": "0"},
        {"header": []},
        {"header": ["x"]},
        {"header": "Title"},
        {"more": 1},
        {"path": 5},
        {"path": None},
    ],
)
def test_invalid_references_are_rejected(lone: World, allowed: Path, changed: dict[str, object]) -> None:
    (allowed / "good.csv").write_bytes(HEADER)
    jobs = lone.gateway(references=(allowed,))
    jobs.create(OWNER, JOB, ONE)
    with pytest.raises(ServiceError):
        jobs.uploads.put_part(OWNER, JOB, "books", 0, reference(allowed / "good.csv", **changed))


def test_a_larger_part_does_not_change_its_identity(lone: World, books: Path) -> None:
    """The same file split at other offsets is a different upload: its second part differs."""
    jobs = lone.gateway()
    one, other = (cut("books", books, size, queries=["q1"]) for size in (900, 1_800))
    jobs.create(OWNER, JOB, one.request)
    jobs.uploads.put_part(OWNER, JOB, "books", 0, one.tables["books"][0])
    with pytest.raises(ServiceError) as problem:
        jobs.uploads.put_part(OWNER, JOB, "books", 0, replace(other.tables["books"][0]))
    assert problem.value.code == "part-differs"
