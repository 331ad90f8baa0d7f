"""Kept datasets as stored: names and structures that later versions must read, and the version that a job reads."""

from __future__ import annotations

import msgspec
import pytest

from cauce.errors import CorruptRecord, OtherVersion
from cauce.fabric.memory import MemoryFabric, Store
from cauce.fabric.names import Log, is_service_log
from cauce.fabric.records import CLIENT, Kind, record
from cauce.job.kept import (
    DatasetDropped,
    KeptManifest,
    KeptVersion,
    StoredTable,
    TableVersion,
    is_store,
    load_kept,
    raw_log,
    store_name,
)
from cauce.job.manifest import OLDEST_VERSION, VERSION, Manifest, load_manifest

STORED = (
    b'{"name":"shop","owner":"eva","incarnation":"0a1b2c3d4e5f","created":1.5,"keep_s":60.0,'
    b'"tables":{"orders":{"name":"orders","lanes":2,"columns":[["id","integer"]]}},'
    b'"schema":{"tables":[{"name":"orders","path":"orders.csv","columns":[{"name":"id","type":"integer","nulls":[]}],'
    b'"delimiter":",","quote":"\\"","header":true}]},"declared":"","version":1}'
)
ON = KeptVersion("shop", 3, "service-kept-00", "0a1b", {"orders": TableVersion(5, 700, 2)})


def test_a_stored_manifest_is_read_and_written_with_the_same_bytes() -> None:
    manifest = load_kept(STORED, "shop")
    assert manifest.tables == {"orders": StoredTable("orders", 2, (("id", "integer"),))}
    assert manifest.dump() == STORED


def test_another_version_is_distinguished_from_damage() -> None:
    with pytest.raises(OtherVersion, match="dataset shop was written by a newer version"):
        load_kept(STORED.replace(b'"version":1', b'"version":2'), "shop")
    with pytest.raises(CorruptRecord):
        load_kept(STORED[:-9], "shop")


def test_names_on_the_fabric_never_change() -> None:
    assert store_name("eva", "shop") == "service-kept-1d1e24aa0931a5231b1833409ca4cc3c"
    assert raw_log("0a1b", "orders", 1) == Log("raw-0a1b-orders-1")


def test_a_dataset_is_no_job_and_its_name_depends_on_the_owner() -> None:
    names = {store_name(owner, name) for owner in ("eva", "ana") for name in ("shop", "store")}
    assert len(names) == 4
    assert all(is_service_log(each) and is_store(each) for each in names)
    assert store_name("a", "b.c") != store_name("a.b", "c")


def test_a_lane_has_every_part_of_its_version_and_no_later_one() -> None:
    sources = [ON.source("orders", lane) for lane in range(2)]
    assert [each.count for each in sources] == [3, 2]
    assert [each.includes(record(Kind.DATA, CLIENT, 4)) for each in sources] == [True, True]
    assert not sources[0].includes(record(Kind.DATA, CLIENT, 5))


def test_manifests_of_earlier_versions_are_read_and_others_refused() -> None:
    plain = Manifest("j", "books", ("q1",), {}, 2, 2, "d")
    kept = msgspec.structs.replace(plain, on=ON, version=3)
    assert load_manifest(plain.dump()).version == VERSION
    assert load_manifest(kept.dump()).on == ON
    assert load_manifest(msgspec.structs.replace(plain, version=OLDEST_VERSION).dump()).queries == plain.queries
    for other in (OLDEST_VERSION - 1, VERSION + 1):
        with pytest.raises(OtherVersion):
            load_manifest(msgspec.structs.replace(plain, version=other).dump())


def test_a_job_notices_that_its_dataset_is_gone_or_another() -> None:
    fabric = MemoryFabric(Store())
    with pytest.raises(DatasetDropped, match="the kept dataset shop was dropped"):
        ON.check(fabric)
    stored = KeptManifest("shop", "eva", "0a1b", 0.0, 1.0, {})
    fabric.create_job(ON.store, stored.dump())
    ON.check(fabric)
    with pytest.raises(DatasetDropped):
        msgspec.structs.replace(ON, incarnation="ffff").check(fabric)
