"""Leases: each task has one holder at a time, and is finished once for ever."""

from __future__ import annotations

from cauce.fabric.contract import Fabric
from tests.conformance.worlds import World, took


def test_tasks_are_taken_in_the_order_of_their_offer(one: Fabric) -> None:
    tasks = ["c", "a", "b", *(f"t{number}" for number in range(20))]
    one.offer("j", "q", tasks)
    assert [took(one).task for _ in tasks] == tasks
    assert one.take("j", "q") is None


def test_no_task_has_two_holders(one: Fabric, other: Fabric) -> None:
    one.offer("j", "q", ["a", "b"])
    assert took(one).task == "a"
    assert took(other).task == "b"
    assert one.take("j", "q") is None
    assert other.take("j", "q") is None


def test_an_unknown_queue_has_nothing_to_take(one: Fabric) -> None:
    assert one.take("j", "unknown") is None


def test_queues_do_not_mix(one: Fabric) -> None:
    one.offer("j", "q", ["a"])
    one.offer("j", "r", ["a"])
    took(one).done()
    assert took(one, queue="r").task == "a"


def test_offering_again_changes_nothing(one: Fabric, other: Fabric) -> None:
    one.offer("j", "q", ["a", "b"])
    took(one).done()
    held = took(one)
    other.offer("j", "q", ["b", "a"])
    one.offer("j", "q", ["a", "b"])
    assert other.take("j", "q") is None
    assert held.task == "b"


def test_more_tasks_line_up_behind(one: Fabric, other: Fabric) -> None:
    one.offer("j", "q", ["z"])
    assert other.take("j", "unknown") is None
    other.offer("j", "q", ["y", "z", "x"])
    assert [took(one).task for _ in range(3)] == ["z", "y", "x"]


def test_a_task_offered_after_a_vain_take_is_seen(one: Fabric, other: Fabric) -> None:
    for number in range(10):
        assert other.take("j", "q") is None
        one.offer("j", "q", [f"t{number}"])
        assert took(other).task == f"t{number}"


def test_a_finished_task_is_never_taken_again(one: Fabric, other: Fabric, world: World) -> None:
    one.offer("j", "q", ["a"])
    assert other.jobs() == ["j"]
    took(one).done()
    assert one.take("j", "q") is None
    assert other.take("j", "q") is None
    one.close()
    assert world.process().take("j", "q") is None


def test_a_task_given_back_is_free_for_others(one: Fabric, other: Fabric) -> None:
    one.offer("j", "q", ["a", "b"])
    lease = took(one)
    assert took(other).task == "b"
    lease.give_back()
    assert took(other).task == "a"


def test_a_task_given_back_is_free_for_its_last_holder(one: Fabric) -> None:
    one.offer("j", "q", ["a"])
    took(one).give_back()
    assert took(one).task == "a"


def test_attempts_are_counted_over_all_holders(one: Fabric, other: Fabric) -> None:
    one.offer("j", "q", ["a"])
    for attempt in (1, 3, 5):
        for fabric, expected in ((one, attempt), (other, attempt + 1)):
            lease = took(fabric)
            assert lease.attempt == expected
            lease.give_back()


def test_ending_a_lease_twice_does_no_harm(one: Fabric, other: Fabric) -> None:
    one.offer("j", "q", ["a", "b"])
    first, second = took(one), took(one)
    first.done()
    first.done()
    first.give_back()
    second.give_back()
    second.give_back()
    assert took(other).task == "b"
    assert one.take("j", "q") is None


def test_closing_gives_back_what_is_held(one: Fabric, other: Fabric) -> None:
    one.offer("j", "q", ["a"])
    took(one)
    one.close()
    lease = took(other)
    assert (lease.task, lease.attempt) == ("a", 2)


def test_the_death_of_a_holder_frees_the_lease(one: Fabric, world: World) -> None:
    one.offer("j", "q", ["a"])
    assert world.die_holding("j", "q") == ("a", 1)
    lease = took(one)
    assert (lease.task, lease.attempt) == ("a", 2)


def test_a_lease_is_not_lost_while_it_is_held_nor_after_it_ended(one: Fabric) -> None:
    one.offer("j", "q", ["a", "b"])
    first, second = took(one), took(one)
    assert not first.lost
    first.done()
    second.give_back()
    assert not first.lost
    assert not second.lost
