"""Jobs over kept datasets: SQL and named queries, versions, idempotency, rejects, and crashes of gateways."""

from __future__ import annotations

from pathlib import Path

import pytest

from cauce.api.jobs import JobRequest
from cauce.api.sql import SqlRequest
from cauce.errors import SqlError
from cauce.gateway.errors import (
    BadRequest,
    DatasetNotReady,
    JobExistsOtherwise,
    NoSuchDataset,
    NoSuchTable,
    ReadsKeptDataset,
)
from cauce.gateway.service import Service
from cauce.job.kept_messages import KeepRequest
from cauce.job.topology import SOURCES
from cauce.schema import ColumnSchema, DatasetSchema, TableSchema
from tests.e2e.comparing import assert_same
from tests.gateway.kept.shop import REQUEST, SPENT, Shop, body_of, finish, keep, start
from tests.gateway.serving import OWNER, Sent, World, answers, run_to_end


def test_sql_is_answered_over_kept_data_without_an_upload(world: World) -> None:
    service = world.service()
    keep(service, Shop())
    status = start(service, "a")
    assert (status.state, status.on, status.version, status.dataset) == ("running", "shop", 1, "sql")
    assert (status.tables["orders"].parts, status.tables["orders"].complete) == (3, 3)
    assert service.jobs.why(OWNER, "a").startswith("job a is running: ")
    assert finish(service, world.worker(), "a") == Shop().spent(3)
    done = service.jobs.status(OWNER, "a")
    assert (done.tables["orders"].parts_read, done.tables["orders"].rows) == (3, 30)
    assert service.jobs.graph(OWNER, "a").stages


def test_a_table_is_shown_by_the_name_that_statements_have_for_it(world: World) -> None:
    service = world.service()
    schema = DatasetSchema((TableSchema("my people", "people.csv", (ColumnSchema("name", "text"),)),))
    service.kept.create(OWNER, "shop", KeepRequest(schema))
    service.kept.put_part(OWNER, "shop", "my people", 0, body_of(("name",), [("ana",)], "people.csv"))
    service.kept.complete(OWNER, "shop", "my people", 1)
    status = start(service, "a", 'SELECT count(*) AS n FROM "my people"')
    assert [table.title for table in status.tables.values()] == ["my people"]
    finish(service, world.worker(), "a")
    graph = service.jobs.graph(OWNER, "a")
    assert (graph.stages[0].name, graph.stages[0].table) == ("scan my people", "my people")
    assert graph.edges[0].from_table == "my people"


def test_jobs_keep_the_version_they_were_started_with(world: World) -> None:
    shop, service = Shop(), world.service()
    keep(service, shop)
    start(service, "old")
    shop.more()
    keep(service, shop)
    start(service, "new")
    worker = world.worker()
    assert finish(service, worker, "new") == shop.spent(4)
    assert finish(service, worker, "old") == shop.spent(3)
    assert [service.jobs.status(OWNER, job).version for job in ("old", "new")] == [1, 2]


def test_several_jobs_at_once_do_not_disturb_each_other(world: World) -> None:
    service, workers = world.service(), [world.worker(), world.worker()]
    keep(service, Shop())
    for number in range(4):
        start(service, f"job-{number}", f"SELECT count(*) AS n, sum(id) AS s FROM orders WHERE id >= {number}")
    for _ in range(400):
        for worker in workers:
            worker.step()
    for number in range(4):
        found = finish(service, workers[0], f"job-{number}")["q1"]
        assert found == f"n,s\n{30 - number},{sum(range(number, 30))}\n".encode()


def test_the_job_id_is_the_idempotency_key(world: World) -> None:
    service, other = world.service(), world.service()
    keep(service, Shop())
    first = start(service, "a")
    again, created = other.kept_jobs.sql(OWNER, SqlRequest(SPENT, "shop", "a"))
    assert not created
    assert again.job == first.job
    with pytest.raises(JobExistsOtherwise, match="other statements"):
        other.kept_jobs.sql(OWNER, SqlRequest("SELECT 1 AS a FROM orders", "shop", "a"))
    with pytest.raises(JobExistsOtherwise, match="the kept dataset shop, not the kept dataset other"):
        other.kept_jobs.sql(OWNER, SqlRequest(SPENT, "other", "a"))
    finish(service, world.worker(), "a")
    service.kept.drop(OWNER, "shop")
    assert other.kept_jobs.sql(OWNER, SqlRequest(SPENT, "shop", "a"))[0].state == "done"
    service.jobs.cancel(OWNER, "a")
    assert other.kept_jobs.sql(OWNER, SqlRequest(SPENT, "shop", "a"))[0].state == "cancelled"


def test_a_new_version_does_not_change_a_repeated_request(world: World) -> None:
    shop, service = Shop(), world.service()
    keep(service, shop)
    start(service, "a")
    shop.more()
    keep(service, shop)
    status, created = service.kept_jobs.sql(OWNER, SqlRequest(SPENT, "shop", "a"))
    assert (created, status.version) == (False, 1)


def test_parameters_are_part_of_the_request(world: World) -> None:
    service = world.service()
    keep(service, Shop())
    text = "SELECT count(*) AS n FROM orders WHERE id < $most"
    service.kept_jobs.sql(OWNER, SqlRequest(text, "shop", "a", {"most": "7"}))
    assert finish(service, world.worker(), "a") == {"q1": b"n\n7\n"}
    with pytest.raises(JobExistsOtherwise, match="parameter most=7, not most=8"):
        service.kept_jobs.sql(OWNER, SqlRequest(text, "shop", "a", {"most": "8"}))
    with pytest.raises(BadRequest, match="unknown parameter"):
        service.kept_jobs.sql(OWNER, SqlRequest(text, "shop", "b", {"least": "8"}))


def test_wrong_statements_are_refused_before_any_work(world: World) -> None:
    service = world.service()
    keep(service, Shop())
    with pytest.raises(SqlError) as problem:
        start(service, "a", "SELECT *\nFROM orderz")
    assert (problem.value.line, problem.value.column) == (2, 6)
    assert "orders" in str(problem.value)
    assert service.jobs.list(OWNER) == []
    with pytest.raises(NoSuchDataset):
        service.kept_jobs.sql(OWNER, SqlRequest(SPENT, "shopp"))
    with pytest.raises(BadRequest, match="at most 200,000"):
        start(service, "a", "SELECT 1 -- " + "x" * 200_000)


def test_check_gives_the_columns_and_starts_nothing(lone: World) -> None:
    service = lone.service()
    service.kept.create(OWNER, "shop", REQUEST)
    found = service.kept_jobs.check(OWNER, SqlRequest(f"-- name: spent\n{SPENT}; SELECT id FROM orders", "shop"))
    assert [each.name for each in found.answers] == ["spent", "q2"]
    assert [(each.name, each.type) for each in found.answers[0].columns] == [
        ("country", "varchar"),
        ("spent", "decimal(38,2)"),
    ]
    assert service.jobs.list(OWNER) == []


def test_only_the_tables_that_are_read_must_be_complete(world: World) -> None:
    service, shop = world.service(), Shop()
    service.kept.create(OWNER, "shop", REQUEST)
    service.kept.put_part(OWNER, "shop", "customers", 0, shop.customers_body)
    service.kept.complete(OWNER, "shop", "customers", 1)
    with pytest.raises(DatasetNotReady, match="table orders of dataset shop is not complete"):
        start(service, "a")
    start(service, "b", "SELECT count(*) AS n FROM customers")
    assert finish(service, world.worker(), "b") == {"q1": b"n\n3\n"}


def test_a_job_over_kept_data_accepts_no_parts(lone: World) -> None:
    service = lone.service()
    keep(service, Shop())
    start(service, "a")
    with pytest.raises(ReadsKeptDataset, match="reads the kept dataset shop"):
        service.jobs.uploads.put_part(OWNER, "a", "orders", 0, Shop().body(0))
    with pytest.raises(ReadsKeptDataset):
        service.jobs.uploads.complete(OWNER, "a", "orders", 3)


def test_rejects_have_their_lines(world: World) -> None:
    service, shop = world.service(), Shop()
    keep(service, shop)
    bad = body_of(("id", "customer", "paid"), [("x", "ana", "1.00"), (99, "eva", "2.00")], "late.csv")
    service.kept.put_part(OWNER, "shop", "orders", 3, bad)
    service.kept.complete(OWNER, "shop", "orders", 4)
    start(service, "a", "SELECT max(id) AS most FROM orders")
    found = finish(service, world.worker(), "a")
    assert found["q1"] == b"most\n99\n"
    assert b"late.csv,2,id" in found["rejects"]


def test_tasks_are_enqueued_by_another_gateway_if_their_creator_crashed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, other = world.service(), world.service()
    keep(service, Shop())
    with monkeypatch.context() as crash:
        crash.setattr("cauce.gateway.jobs.job_service.enqueue_tasks", _crash)
        with pytest.raises(KeyboardInterrupt):
            start(service, "a")
    assert world.fabric().acquire("local.a", SOURCES) is None
    world.clock.now += 3
    other.jobs.sweep()
    assert finish(other, world.worker(), "a") == Shop().spent(3)


def _crash(*_: object) -> None:
    raise KeyboardInterrupt


def _keep_books(service: Service, sent: Sent, name: str, request: KeepRequest) -> None:
    service.kept.create(OWNER, name, request)
    for table, seq, body in sent.each():
        service.kept.put_part(OWNER, name, table, seq, body)
    for table, bodies in sent.tables.items():
        service.kept.complete(OWNER, name, table, len(bodies))


def test_named_queries_of_a_declared_dataset_run_on_kept_data(
    world: World, sent: Sent, wanted: dict[str, bytes], books: Path
) -> None:
    service = world.service()
    _keep_books(service, sent, "library", KeepRequest(declared="books"))
    request = JobRequest("books", ["q1", "q2", "q3", "q4"], on="library")
    status, created = service.create(OWNER, "a", request)
    assert created
    assert (status.state, status.on) == ("running", "library")
    assert not service.create(OWNER, "a", request)[1]
    run_to_end(service.jobs, world.worker(), "a")
    assert_same(answers(service.jobs, "a"), wanted)
    with pytest.raises(JobExistsOtherwise, match="the kept dataset library, not data of its client"):
        service.create(OWNER, "a", JobRequest("books", ["q1", "q2", "q3", "q4"]))


def test_sql_reads_the_tables_of_a_declared_dataset(world: World, sent: Sent) -> None:
    service = world.service()
    _keep_books(service, sent, "shop", KeepRequest(declared="books"))
    start(service, "a", "SELECT count(*) > 0 AS some FROM books")
    assert finish(service, world.worker(), "a")["q1"] == b"some\ntrue\n"


def test_named_queries_need_their_tables(lone: World) -> None:
    service = lone.service()
    keep(service, Shop())
    with pytest.raises(NoSuchTable, match="dataset shop has no table books"):
        service.create(OWNER, "a", JobRequest("books", ["q1"], on="shop"))
