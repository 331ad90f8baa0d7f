"""Jobs: created once, listed by age, deleted for everybody."""

from __future__ import annotations

import pytest

from cauce.errors import JobGone
from cauce.fabric.contract import START, Fabric
from cauce.fabric.names import Log, service_log_name
from tests.conformance.worlds import World, data, drain, jobs_seen_by, names, took


def test_a_created_job_is_seen_by_all(one: Fabric, other: Fabric) -> None:
    assert jobs_seen_by(other) == ["j"]
    assert other.manifest("j") == b"manifest"


def test_the_first_manifest_wins(one: Fabric, other: Fabric) -> None:
    assert other.create_job("j", b"another") == b"manifest"
    assert one.manifest("j") == b"manifest"
    assert one.jobs() == ["j"]


def test_creating_returns_the_manifest(world: World) -> None:
    assert world.process().create_job("j", b"mine") == b"mine"


def test_jobs_are_listed_by_age(world: World) -> None:
    fabric, watcher = world.process(), world.process()
    created = ["m", "z", "a", "k", "b"]
    for count, job in enumerate(created, 1):
        fabric.create_job(job, b"")
        assert jobs_seen_by(watcher) == created[:count]
    fabric.create_job("m", b"")
    assert jobs_seen_by(watcher) == created


def test_an_unknown_job_is_no_error(one: Fabric) -> None:
    assert one.manifest("unknown") is None
    assert one.read("unknown", Log("log"), START, 100).records == []
    assert one.acquire("unknown", "queue") is None
    one.enqueue("unknown", "queue", ["task"])
    one.delete_job("unknown")
    assert one.jobs() == ["j"]


def test_deleting_is_seen_by_all_and_may_be_repeated(one: Fabric, other: Fabric) -> None:
    assert jobs_seen_by(other) == ["j"]
    one.delete_job("j")
    other.delete_job("j")
    assert jobs_seen_by(other) == []
    assert other.manifest("j") is None


def test_deleting_one_job_leaves_the_others(one: Fabric, other: Fabric) -> None:
    for job in ("i", "j2"):
        one.create_job(job, b"")
        one.append(job, Log("log"), data(0, 1))
    one.delete_job("j")
    assert jobs_seen_by(other) == ["i", "j2"]
    assert names(drain(other, "j2", Log("log"))[0]) == [(0, 1)]


def test_a_read_of_a_deleted_job_is_empty(one: Fabric, other: Fabric) -> None:
    one.append("j", Log("log"), data(0, 1, 2, 3))
    other.read_barrier("j", Log("log"))
    position = other.read("j", Log("log"), START, 1).position
    assert position
    one.delete_job("j")
    other.read_barrier()
    assert other.read("j", Log("log"), position, 100).records == []
    assert other.read("j", Log("log"), position, 100).position == position


def test_an_append_to_a_job_that_does_not_exist_is_refused(one: Fabric, other: Fabric) -> None:
    with pytest.raises(JobGone, match="job unknown does not exist"):
        one.append("unknown", Log("log"), data(0, 1))
    assert one.jobs() == ["j"]


def test_an_append_to_a_deleted_job_is_refused_and_shows_the_deletion(one: Fabric, other: Fabric) -> None:
    other.append("j", Log("log"), data(0, 1))
    one.delete_job("j")
    for log in (Log("log"), Log("new")):
        with pytest.raises(JobGone):
            other.append("j", log, data(0, 2))
    with pytest.raises(JobGone):
        other.append_all("j", [(Log("log"), data(0, 2)), (Log("new"), data(0, 2))])
    assert other.manifest("j") is None
    assert one.jobs() == other.jobs() == []
    assert drain(one, "j", Log("log"))[0] == []


def test_leases_of_a_deleted_job_end_without_an_error(one: Fabric, other: Fabric) -> None:
    one.enqueue("j", "q", ["a", "b", "c"])
    first, second = took(other), took(other)
    one.delete_job("j")
    assert other.acquire("j", "q") is None
    first.complete()
    second.release()
    other.enqueue("j", "q", ["d"])
    assert other.acquire("j", "q") is None
    assert one.jobs() == []


def test_a_job_created_again_begins_empty(one: Fabric, other: Fabric) -> None:
    one.enqueue("j", "q", ["a"])
    other.append("j", Log("log"), data(0, 1))
    took(other).complete()
    one.delete_job("j")
    assert one.create_job("j", b"second") == b"second"
    other.read_barrier()
    assert other.manifest("j") == b"second"
    assert drain(other, "j", Log("log"))[0] == []
    assert other.acquire("j", "q") is None
    one.enqueue("j", "q", ["a"])
    assert took(other).task == "a"
    other.append("j", Log("log"), data(0, 2))
    assert names(drain(one, "j", Log("log"))[0]) == [(0, 2)]


def test_logs_of_the_service_are_not_among_the_jobs(one: Fabric, other: Fabric) -> None:
    names_of_logs = [service_log_name("events", 20_000), service_log_name("cluster")]
    for name in names_of_logs:
        one.create_job(name, b"{}")
        one.append(name, Log("log"), data(0, 1))
    assert jobs_seen_by(other) == ["j"]
    assert other.service_logs() == names_of_logs
    assert names(drain(other, names_of_logs[0], Log("log"))[0]) == [(0, 1)]
    one.delete_job(names_of_logs[0])
    other.read_barrier()
    assert other.service_logs() == names_of_logs[1:]


def test_a_log_of_the_service_outlives_the_jobs_that_read_it(one: Fabric, other: Fabric) -> None:
    kept, log = service_log_name("kept", "0a"), Log("raw-orders-0")
    one.create_job(kept, b"{}")
    one.append(kept, log, data(0, 1, 2))
    found, position = drain(other, kept, log)
    assert names(found) == [(0, 1), (0, 2)]
    one.trim("j", [])
    one.delete_job("j")
    one.append(kept, log, data(0, 3))
    other.read_barrier(kept, log)
    assert names(other.read(kept, log, position, 1 << 20).records) == [(0, 3)]
    assert names(drain(one, kept, log)[0]) == [(0, 1), (0, 2), (0, 3)]
    one.delete_job(kept)


def test_trimming_leaves_the_named_logs(one: Fabric, other: Fabric) -> None:
    for log in (Log("kept"), Log("gone"), Log("gone-too")):
        one.append("j", log, data(0, 1))
    position = drain(other, "j", Log("gone"))[1]
    one.trim("j", [Log("kept"), Log("never-written")])
    assert jobs_seen_by(other) == ["j"]
    assert other.manifest("j") == b"manifest"
    assert names(drain(other, "j", Log("kept"))[0]) == [(0, 1)]
    assert drain(other, "j", Log("gone"))[0] == []
    assert drain(other, "j", Log("gone-too"))[0] == []
    assert other.read("j", Log("gone"), position, 100).position == position


def test_kept_logs_of_a_trimmed_job_accept_appends(one: Fabric, other: Fabric) -> None:
    one.append("j", Log("kept"), data(0, 1))
    other.append("j", Log("kept"), data(1, 1))
    _, position = drain(other, "j", Log("kept"))
    one.trim("j", [Log("kept"), Log("new")])
    for producer, fabric in enumerate((one, other)):
        fabric.append("j", Log("kept"), data(producer, 2))
        fabric.append("j", Log("new"), data(producer, 2))
    assert names(drain(other, "j", Log("kept"), position)[0]) == [(0, 2), (1, 2)]
    assert names(drain(one, "j", Log("new"))[0]) == [(0, 2), (1, 2)]


def test_trimmed_logs_are_never_recreated(one: Fabric, other: Fabric, world: World) -> None:
    one.append("j", Log("gone"), data(0, 1))
    other.append("j", Log("gone"), data(1, 1))
    one.trim("j", [])
    for fabric in (one, other, world.process()):
        fabric.append("j", Log("gone"), data(0, 2))
        fabric.append("j", Log("new"), data(0, 2))
        fabric.enqueue("j", "q", ["a"])
    for fabric in (one, other, world.process()):
        assert drain(fabric, "j", Log("gone"))[0] == []
        assert drain(fabric, "j", Log("new"))[0] == []
        assert fabric.acquire("j", "q") is None


def test_leases_of_a_trimmed_job_end_without_an_error(one: Fabric, other: Fabric) -> None:
    one.enqueue("j", "q", ["a", "b", "c"])
    took(one)
    first, second = took(other), took(other)
    assert other.acquire("j", "q") is None
    one.trim("j", [])
    first.complete()
    second.release()
    assert other.acquire("j", "q") is None
    assert one.acquire("j", "q") is None


def test_trimming_is_idempotent_and_ignores_missing_logs(one: Fabric, other: Fabric) -> None:
    one.append("j", Log("kept"), data(0, 1))
    for fabric in (one, other, one):
        fabric.trim("j", [Log("kept")])
    assert names(drain(other, "j", Log("kept"))[0]) == [(0, 1)]
    one.trim("unknown", [Log("kept")])
    one.delete_job("j")
    one.trim("j", [Log("kept")])
    assert jobs_seen_by(other) == []


def test_a_job_created_again_after_a_trim_is_whole(one: Fabric, other: Fabric) -> None:
    one.append("j", Log("log"), data(0, 1))
    one.trim("j", [])
    one.delete_job("j")
    one.create_job("j", b"second")
    other.append("j", Log("log"), data(0, 2))
    one.enqueue("j", "q", ["a"])
    assert names(drain(one, "j", Log("log"))[0]) == [(0, 2)]
    took(other)
