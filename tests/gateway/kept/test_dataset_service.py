"""Kept datasets: creation, uploads, versions, quotas, ownership, dropping and expiry."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cauce.gateway.errors import (
    BadPart,
    BadRequest,
    CountDiffers,
    DatasetExistsOtherwise,
    DatasetInUse,
    NoSuchDataset,
    NoSuchTable,
    PartDiffers,
    PartsMissing,
    QuotaExceeded,
    UnsupportedFormat,
)
from cauce.gateway.service import Service
from cauce.job.kept_messages import KeepRequest
from cauce.schema import ColumnSchema, DatasetSchema, TableSchema
from tests.gateway.kept.shop import REQUEST, SCHEMA, Shop, finish, keep, start
from tests.gateway.serving import OWNER, World, run_to_end

DAY_S = 86_400.0


def test_a_kept_dataset_is_no_job(world: World) -> None:
    service = world.service()
    keep(service, Shop())
    assert service.jobs.list(OWNER) == []
    assert world.fabric().jobs() == []
    assert [each.name for each in service.kept.list(OWNER)] == ["shop"]


def test_creation_is_idempotent_and_a_different_request_is_refused(world: World) -> None:
    service, other = world.service(), world.service()
    assert service.kept.create(OWNER, "shop", REQUEST)[1]
    found, created = other.kept.create(OWNER, "shop", REQUEST)
    assert not created
    assert found == service.kept.get(OWNER, "shop")
    with pytest.raises(DatasetExistsOtherwise, match="a time of 604800 s, not of 60 s"):
        other.kept.create(OWNER, "shop", KeepRequest(SCHEMA, keep_s=60.0))
    with pytest.raises(DatasetExistsOtherwise, match="another schema"):
        other.kept.create(OWNER, "shop", KeepRequest(SCHEMA.override("orders.paid", "text")))
    with pytest.raises(DatasetExistsOtherwise, match="a schema, not with the declared dataset books"):
        other.kept.create(OWNER, "shop", KeepRequest(declared="books"))


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (KeepRequest(), "either `schema`, or `declared`"),
        (KeepRequest(SCHEMA, "books"), "either `schema`, or `declared`"),
        (KeepRequest(declared="bookz"), "'bookz' is not declared; expected one of books"),
        (KeepRequest(DatasetSchema()), "0 tables"),
        (KeepRequest(SCHEMA, keep_s=0.5), "invalid keep_s 0.5"),
        (KeepRequest(SCHEMA, keep_s=float("nan")), "invalid keep_s nan"),
        (KeepRequest(DatasetSchema((TableSchema("t", "t.csv", (ColumnSchema("a", "number"),), ";;"),))), "delimiter"),
    ],
)
def test_invalid_requests_are_refused(lone: World, request_: KeepRequest, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        lone.service().kept.create(OWNER, "shop", request_)


def test_invalid_names_are_refused(lone: World) -> None:
    with pytest.raises(BadRequest, match="invalid dataset name"):
        lone.service().kept.create(OWNER, "../x", REQUEST)


def test_parts_are_idempotent_and_never_replaced(world: World) -> None:
    shop, service, other = Shop(), world.service(), world.service()
    service.kept.create(OWNER, "shop", REQUEST)
    assert service.kept.put_part(OWNER, "shop", "orders", 0, shop.body(0))
    assert not other.kept.put_part(OWNER, "shop", "orders", 0, shop.body(0))
    with pytest.raises(PartDiffers, match="another upload to this dataset"):
        other.kept.put_part(OWNER, "shop", "orders", 0, shop.body(1))
    with pytest.raises(PartsMissing):
        other.kept.complete(OWNER, "shop", "orders", 2)
    with pytest.raises(NoSuchTable, match="expected one of orders, customers"):
        other.kept.put_part(OWNER, "shop", "order", 0, shop.body(0))
    with pytest.raises(UnsupportedFormat, match="send the rows"):
        other.kept.put_part(OWNER, "shop", "orders", 1, replace(shop.body(1), form="reference"))
    with pytest.raises(BadPart, match="digest"):
        other.kept.put_part(OWNER, "shop", "orders", 1, replace(shop.body(1), digest="0" * 64))
    assert other.kept.held(OWNER, "shop", "orders").ranges == [(0, 0)]
    assert [each.file for each in other.kept.parts(OWNER, "shop", "orders", 0, 10).parts] == ["orders-0.csv"]


def test_completing_with_more_parts_is_a_new_version(world: World) -> None:
    shop, service, other = Shop(), world.service(), world.service()
    service.kept.create(OWNER, "shop", REQUEST)
    assert service.kept.get(OWNER, "shop").version == 0
    keep(service, shop)
    first = other.kept.get(OWNER, "shop")
    assert (first.version, first.tables["orders"].complete, first.tables["orders"].parts) == (1, 3, 3)
    shop.more()
    service.kept.put_part(OWNER, "shop", "orders", 3, shop.body(3))
    waiting = other.kept.get(OWNER, "shop")
    assert (waiting.version, waiting.tables["orders"].complete, waiting.tables["orders"].parts) == (1, 3, 4)
    assert other.kept.complete(OWNER, "shop", "orders", 4)
    assert not service.kept.complete(OWNER, "shop", "orders", 4)
    assert service.kept.get(OWNER, "shop").version == 2
    with pytest.raises(CountDiffers, match="completed with 4 parts; a new version must have more, not 3"):
        service.kept.complete(OWNER, "shop", "orders", 3)


def test_another_owners_dataset_does_not_exist(world: World) -> None:
    service = world.service()
    keep(service, Shop(), owner="eva")
    assert service.kept.list("ana") == []
    for step in (
        lambda: service.kept.get("ana", "shop"),
        lambda: service.kept.drop("ana", "shop"),
        lambda: service.kept.held("ana", "shop", "orders"),
        lambda: service.kept.complete("ana", "shop", "orders", 3),
        lambda: service.kept.put_part("ana", "shop", "orders", 0, Shop().body(0)),
        lambda: start(service, "a", owner="ana"),
    ):
        with pytest.raises(NoSuchDataset, match="dataset shop is not kept here"):
            step()
    keep(service, Shop(), owner="ana")
    service.kept.drop("ana", "shop")
    assert [each.owner for each in service.kept.list("eva")] == ["eva"]


def test_the_number_of_datasets_of_an_owner_is_limited(world: World) -> None:
    service = world.service(kept_datasets_per_owner=2)
    service.kept.create(OWNER, "a", REQUEST)
    service.kept.create(OWNER, "b", REQUEST)
    with pytest.raises(QuotaExceeded, match="you keep 2 datasets, which is the limit"):
        service.kept.create(OWNER, "c", REQUEST)
    assert not service.kept.create(OWNER, "b", REQUEST)[1]
    service.kept.create("eva", "c", REQUEST)
    service.kept.drop(OWNER, "a")
    assert service.kept.create(OWNER, "c", REQUEST)[1]


def test_the_bytes_of_an_owner_are_limited_over_all_his_datasets(world: World) -> None:
    shop = Shop()
    size = sum(len(shop.body(part).data) for part in range(3)) + len(shop.customers_body.data)
    service = world.service(kept_bytes_per_owner=size + 10)
    keep(service, shop, "a")
    service.kept.create(OWNER, "b", REQUEST)
    with pytest.raises(QuotaExceeded, match=f"more than {size + 10:,} bytes"):
        service.kept.put_part(OWNER, "b", "orders", 0, shop.body(0))
    keep(service, shop, "a", "eva")
    service.kept.drop(OWNER, "a")
    keep(world.service(kept_bytes_per_owner=size + 10), shop, "b")


def test_a_misspelt_name_gets_a_suggestion_of_the_same_owner(world: World) -> None:
    service = world.service()
    keep(service, Shop())
    keep(service, Shop(), name="shopp", owner="ana")
    with pytest.raises(NoSuchDataset, match=r"dataset shp is not kept here.*; did you mean shop\?$"):
        service.kept.get(OWNER, "shp")
    with pytest.raises(NoSuchDataset, match=r"or has expired; you keep shop$"):
        service.kept.get(OWNER, "weather")
    with pytest.raises(NoSuchDataset, match=r"or has expired$"):
        service.kept.get("eva", "shp")


def test_dropping_frees_everything(world: World) -> None:
    service = world.service()
    keep(service, Shop())
    assert service.kept.drop(OWNER, "shop").name == "shop"
    assert world.fabric().service_logs() == []
    assert world.left() == []
    with pytest.raises(NoSuchDataset):
        world.service().kept.get(OWNER, "shop")


def test_a_dataset_that_jobs_read_is_dropped_only_with_force(world: World) -> None:
    service, worker = world.service(), world.worker()
    keep(service, Shop())
    start(service, "a")
    start(service, "b")
    with pytest.raises(DatasetInUse, match="read by 2 jobs a, b"):
        service.kept.drop(OWNER, "shop")
    assert finish(service, worker, "a") == Shop().spent(3)
    with pytest.raises(DatasetInUse, match="read by job b"):
        service.kept.drop(OWNER, "shop")
    service.kept.drop(OWNER, "shop", force=True)
    status = service.jobs.status(OWNER, "b")
    assert (status.state, status.code) == ("failed", "dataset-dropped")
    assert "dropped with force" in status.cause
    assert finish(service, worker, "a") == Shop().spent(3)


def test_a_worker_fails_a_job_whose_dataset_is_gone(world: World) -> None:
    """Also if another dataset of the same name and size was uploaded since."""
    service, worker = world.service(), world.worker()
    keep(service, Shop())
    start(service, "a")
    world.fabric().delete_job(service.kept.open(OWNER, "shop").store)
    keep(service, Shop(orders=[Shop().orders[1], Shop().orders[2], Shop().orders[0]]))
    status = run_to_end(service.jobs, worker, "a")
    assert (status.state, status.code) == ("failed", "dataset-dropped")


def test_a_dataset_expires_after_its_last_upload(world: World) -> None:
    service, shop = world.service(), Shop()
    keep(service, shop, request=KeepRequest(SCHEMA, keep_s=DAY_S))
    assert service.kept.get(OWNER, "shop").expires == world.clock.now + DAY_S
    service.kept.sweep()
    world.clock.now += DAY_S - 1
    shop.more()
    keep(service, shop, request=KeepRequest(SCHEMA, keep_s=DAY_S))
    service.kept.sweep()
    world.clock.now += DAY_S - 1
    assert service.kept.sweep() == []
    world.clock.now += 2
    assert [each.name for each in service.kept.sweep()] == ["shop"]
    assert world.fabric().service_logs() == []


def test_expiry_waits_for_the_jobs_that_read_it(world: World) -> None:
    service, worker = world.service(), world.worker()
    keep(service, Shop(), request=KeepRequest(SCHEMA, keep_s=DAY_S))
    start(service, "a")
    service.kept.sweep()
    world.clock.now += DAY_S + 1
    assert service.kept.sweep() == []
    with pytest.raises(NoSuchDataset):
        start(service, "b")
    with pytest.raises(DatasetInUse, match="is expired and its data is removed when job a has ended"):
        service.kept.create(OWNER, "shop", REQUEST)
    assert finish(service, worker, "a") == Shop().spent(3)
    assert [each.name for each in service.kept.sweep()] == ["shop"]


def test_a_clock_that_is_set_forward_expires_nothing(world: World) -> None:
    service = world.service()
    keep(service, Shop(), request=KeepRequest(SCHEMA, keep_s=DAY_S))
    service.kept.sweep()
    world.clock.jump(2 * DAY_S)
    assert service.kept.sweep() == []


def test_a_job_that_is_created_during_a_drop_is_refused_or_keeps_the_data(world: World) -> None:
    """The drop is recorded after the job has read the dataset's state: the job must notice it, or the drop the job."""
    service, other = world.service(), world.service()
    keep(service, Shop())
    verify = service.kept.verify

    def dropped_meanwhile(version: object) -> None:
        other.kept.open(OWNER, "shop").remove(other.fabric, "dropped", world.clock())
        verify(version)  # type: ignore[arg-type]

    service.kept.verify = dropped_meanwhile  # type: ignore[assignment]
    with pytest.raises(NoSuchDataset):
        start(service, "a")
    assert service.jobs.list(OWNER) == []
    other.kept.sweep()
    assert world.fabric().service_logs() == []


def test_a_drop_that_crashed_is_completed_by_a_sweep(world: World) -> None:
    service, other = world.service(), world.service()
    keep(service, Shop())
    service.kept.open(OWNER, "shop").remove(service.fabric, "dropped", world.clock())
    with pytest.raises(NoSuchDataset):
        other.kept.get(OWNER, "shop")
    assert [each.name for each in other.kept.sweep()] == ["shop"]
    assert other.kept.create(OWNER, "shop", REQUEST)[1]


def _datasets(service: Service) -> list[str]:
    return [each.name for each in service.kept.list(OWNER)]


def test_a_damaged_dataset_does_not_hide_the_others(world: World) -> None:
    service = world.service()
    keep(service, Shop())
    service.fabric.create_job("service-kept-" + "0" * 32, b"{damaged")
    assert _datasets(service) == ["shop"]
    service.kept.sweep()
