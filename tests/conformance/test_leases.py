"""Leases: each task has at most one holder and is finished once."""

from __future__ import annotations

from cauce.fabric.contract import Fabric
from tests.conformance.worlds import World, took


def test_tasks_are_acquired_in_the_order_they_were_enqueued(one: Fabric) -> None:
    tasks = ["c", "a", "b", *(f"t{number}" for number in range(20))]
    one.enqueue("j", "q", tasks)
    assert [took(one).task for _ in tasks] == tasks
    assert one.acquire("j", "q") is None


def test_no_task_has_two_holders(one: Fabric, other: Fabric) -> None:
    one.enqueue("j", "q", ["a", "b"])
    assert took(one).task == "a"
    assert took(other).task == "b"
    assert one.acquire("j", "q") is None
    assert other.acquire("j", "q") is None


def test_an_unknown_queue_has_no_leases(one: Fabric) -> None:
    assert one.acquire("j", "unknown") is None


def test_queues_do_not_mix(one: Fabric) -> None:
    one.enqueue("j", "q", ["a"])
    one.enqueue("j", "r", ["a"])
    took(one).complete()
    assert took(one, queue="r").task == "a"


def test_enqueueing_is_idempotent(one: Fabric, other: Fabric) -> None:
    one.enqueue("j", "q", ["a", "b"])
    took(one).complete()
    held = took(one)
    other.enqueue("j", "q", ["b", "a"])
    one.enqueue("j", "q", ["a", "b"])
    assert other.acquire("j", "q") is None
    assert held.task == "b"


def test_later_tasks_are_acquired_last(one: Fabric, other: Fabric) -> None:
    one.enqueue("j", "q", ["z"])
    assert other.acquire("j", "unknown") is None
    other.enqueue("j", "q", ["y", "z", "x"])
    assert [took(one).task for _ in range(3)] == ["z", "y", "x"]


def test_a_task_enqueued_after_an_empty_poll_is_acquired(one: Fabric, other: Fabric) -> None:
    for number in range(10):
        assert other.acquire("j", "q") is None
        one.enqueue("j", "q", [f"t{number}"])
        assert took(other).task == f"t{number}"


def test_a_finished_task_is_never_acquired_again(one: Fabric, other: Fabric, world: World) -> None:
    one.enqueue("j", "q", ["a"])
    assert other.jobs() == ["j"]
    took(one).complete()
    assert one.acquire("j", "q") is None
    assert other.acquire("j", "q") is None
    one.close()
    assert world.process().acquire("j", "q") is None


def test_a_released_lease_is_free_for_others(one: Fabric, other: Fabric) -> None:
    one.enqueue("j", "q", ["a", "b"])
    lease = took(one)
    assert took(other).task == "b"
    lease.release()
    assert took(other).task == "a"


def test_a_released_lease_is_free_for_its_last_holder(one: Fabric) -> None:
    one.enqueue("j", "q", ["a"])
    took(one).release()
    assert took(one).task == "a"


def test_ending_a_lease_is_idempotent(one: Fabric, other: Fabric) -> None:
    one.enqueue("j", "q", ["a", "b"])
    first, second = took(one), took(one)
    first.complete()
    first.complete()
    first.release()
    second.release()
    second.release()
    assert took(other).task == "b"
    assert one.acquire("j", "q") is None


def test_closing_releases_all_leases(one: Fabric, other: Fabric) -> None:
    one.enqueue("j", "q", ["a"])
    took(one)
    one.close()
    lease = took(other)
    assert lease.task == "a"


def test_a_crash_of_the_holder_releases_the_lease(one: Fabric, world: World) -> None:
    one.enqueue("j", "q", ["a"])
    assert world.crash_holding("j", "q") == "a"
    lease = took(one)
    assert lease.task == "a"


def test_a_lease_is_not_lost_while_it_is_held_nor_after_it_ended(one: Fabric) -> None:
    one.enqueue("j", "q", ["a", "b"])
    first, second = took(one), took(one)
    assert not first.lost
    first.complete()
    second.release()
    assert not first.lost
    assert not second.lost
