"""Jobs: created once, listed by age, deleted for everybody."""

from __future__ import annotations

from cauce.fabric.contract import Fabric
from tests.conformance.worlds import World, data, drain, jobs_seen_by, names, took


def test_a_created_job_is_seen_by_all(one: Fabric, other: Fabric) -> None:
    assert jobs_seen_by(other) == ["j"]
    assert other.manifest("j") == b"manifest"


def test_the_first_manifest_stands(one: Fabric, other: Fabric) -> None:
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
    assert one.read("unknown", "log", {}, 100).records == []
    assert one.take("unknown", "queue") is None
    one.append("unknown", "log", data(0, 1))
    one.offer("unknown", "queue", ["task"])
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
        one.append(job, "log", data(0, 1))
    one.delete_job("j")
    assert jobs_seen_by(other) == ["i", "j2"]
    assert names(drain(other, "j2", "log")[0]) == [(0, 1)]


def test_a_reader_of_a_deleted_job_finds_nothing_more(one: Fabric, other: Fabric) -> None:
    one.append("j", "log", data(0, 1, 2, 3))
    other.catch_up("j", "log")
    position = other.read("j", "log", {}, 1).position
    assert position
    one.delete_job("j")
    other.catch_up()
    assert other.read("j", "log", position, 100).records == []
    assert other.read("j", "log", position, 100).position == position


def test_what_is_appended_to_a_deleted_job_goes_nowhere(one: Fabric, other: Fabric) -> None:
    other.append("j", "log", data(0, 1))
    one.delete_job("j")
    other.append("j", "log", data(0, 2))
    other.append("j", "new", data(0, 2))
    assert one.jobs() == []
    assert drain(one, "j", "log")[0] == []


def test_leases_of_a_deleted_job_end_quietly(one: Fabric, other: Fabric) -> None:
    one.offer("j", "q", ["a", "b", "c"])
    first, second = took(other), took(other)
    one.delete_job("j")
    assert other.take("j", "q") is None
    first.done()
    second.give_back()
    other.offer("j", "q", ["d"])
    assert other.take("j", "q") is None
    assert one.jobs() == []


def test_a_job_created_again_begins_empty(one: Fabric, other: Fabric) -> None:
    one.offer("j", "q", ["a"])
    other.append("j", "log", data(0, 1))
    took(other).done()
    one.delete_job("j")
    assert one.create_job("j", b"second") == b"second"
    other.catch_up()
    assert other.manifest("j") == b"second"
    assert drain(other, "j", "log")[0] == []
    assert other.take("j", "q") is None
    one.offer("j", "q", ["a"])
    assert took(other).attempt == 1
    other.append("j", "log", data(0, 2))
    assert names(drain(one, "j", "log")[0]) == [(0, 2)]


def test_trimming_leaves_the_named_logs(one: Fabric, other: Fabric) -> None:
    for log in ("kept", "gone", "gone-too"):
        one.append("j", log, data(0, 1))
    position = drain(other, "j", "gone")[1]
    one.trim("j", ["kept", "never-written"])
    assert jobs_seen_by(other) == ["j"]
    assert other.manifest("j") == b"manifest"
    assert names(drain(other, "j", "kept")[0]) == [(0, 1)]
    assert drain(other, "j", "gone")[0] == []
    assert drain(other, "j", "gone-too")[0] == []
    assert other.read("j", "gone", position, 100).position == position


def test_a_trimmed_job_goes_on_with_the_logs_it_has(one: Fabric, other: Fabric) -> None:
    one.append("j", "kept", data(0, 1))
    other.append("j", "kept", data(1, 1))
    _, position = drain(other, "j", "kept")
    one.trim("j", ["kept", "new"])
    for producer, fabric in enumerate((one, other)):
        fabric.append("j", "kept", data(producer, 2))
        fabric.append("j", "new", data(producer, 2))
    assert names(drain(other, "j", "kept", position)[0]) == [(0, 2), (1, 2)]
    assert names(drain(one, "j", "new")[0]) == [(0, 2), (1, 2)]


def test_nothing_brings_back_what_was_trimmed(one: Fabric, other: Fabric, world: World) -> None:
    one.append("j", "gone", data(0, 1))
    other.append("j", "gone", data(1, 1))
    one.trim("j", [])
    for fabric in (one, other, world.process()):
        fabric.append("j", "gone", data(0, 2))
        fabric.append("j", "new", data(0, 2))
        fabric.offer("j", "q", ["a"])
    for fabric in (one, other, world.process()):
        assert drain(fabric, "j", "gone")[0] == []
        assert drain(fabric, "j", "new")[0] == []
        assert fabric.take("j", "q") is None


def test_leases_of_a_trimmed_job_end_quietly(one: Fabric, other: Fabric) -> None:
    one.offer("j", "q", ["a", "b", "c"])
    took(one)
    first, second = took(other), took(other)
    assert other.take("j", "q") is None
    one.trim("j", [])
    first.done()
    second.give_back()
    assert other.take("j", "q") is None
    assert one.take("j", "q") is None


def test_trimming_again_or_what_is_not_there_does_no_harm(one: Fabric, other: Fabric) -> None:
    one.append("j", "kept", data(0, 1))
    for fabric in (one, other, one):
        fabric.trim("j", ["kept"])
    assert names(drain(other, "j", "kept")[0]) == [(0, 1)]
    one.trim("unknown", ["kept"])
    one.delete_job("j")
    one.trim("j", ["kept"])
    assert jobs_seen_by(other) == []


def test_a_job_created_again_after_a_trim_is_whole(one: Fabric, other: Fabric) -> None:
    one.append("j", "log", data(0, 1))
    one.trim("j", [])
    one.delete_job("j")
    one.create_job("j", b"second")
    other.append("j", "log", data(0, 2))
    one.offer("j", "q", ["a"])
    assert names(drain(one, "j", "log")[0]) == [(0, 2)]
    took(other)
