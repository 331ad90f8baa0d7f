"""Leases on a broker: filled by whoever survives, dropped where they are known to be second ones."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from cauce.fabric import rabbitmq_lease, rabbitmq_offers
from cauce.fabric.address import parse
from cauce.fabric.rabbitmq import RabbitFabric
from cauce.fabric.rabbitmq_amqp import Connection
from cauce.fabric.rabbitmq_queues import VOID, Counts, counts, queue_name
from cauce.fabric.rabbitmq_registry import Offer
from tests.conformance.worlds import took
from tests.fabric.children import Child, finish_all, take_surely
from tests.fabric.rabbit import publish, remove

Open = Callable[[], RabbitFabric]


@pytest.fixture
def fabric(rabbit: Open) -> RabbitFabric:
    made = rabbit()
    made.create_job("j", b"")
    return made


def incarnation(fabric: RabbitFabric) -> str:
    return fabric._open.session.directory.registry.jobs["j"].incarnation


def test_a_queue_whose_offerer_died_before_filling_it_is_filled_by_another(
    fabric: RabbitFabric, rabbit: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rabbitmq_offers, "MEND_AFTER_S", 0.2)
    dead = rabbit()
    dead._open.session.say([Offer(incarnation(fabric), "q", ["a", "b"], "token")], dead._deadline())
    dead.close()
    assert [took(fabric).task for _ in range(2)] == ["a", "b"]
    fabric.offer("j", "q", ["a", "b"])
    assert fabric.take("j", "q") is None


def test_a_queue_that_was_filled_is_left_alone(
    fabric: RabbitFabric, rabbit: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rabbitmq_offers, "MEND_AFTER_S", 0.0)
    fabric.offer("j", "q", ["a"])
    held = took(fabric)
    others = [rabbit(), rabbit()]
    for _ in range(20):
        for other in (fabric, *others):
            assert other.take("j", "q") is None
    held.done()


def test_a_second_message_of_a_task_is_dropped_where_it_is_known_to_be_one(
    fabric: RabbitFabric, namespace: str
) -> None:
    fabric.offer("j", "q", ["a", "b"])
    session = fabric._open.session
    queue = queue_name(session.namespace, session.directory.registry.jobs["j"], "q")
    first = took(fabric)
    publish(parse(namespace), queue, [b"a"])
    second = took(fabric)
    assert [first.task, second.task] == ["a", "b"]
    assert fabric.take("j", "q") is None
    first.done()
    second.done()
    publish(parse(namespace), queue, [b"b", b"a"])
    assert fabric.take("j", "q") is None
    assert session._holding.call(lambda connection: counts(connection, queue), fabric._deadline()) == VOID


def test_a_second_message_of_a_held_task_is_dropped_without_finishing_the_task(
    fabric: RabbitFabric, namespace: str
) -> None:
    fabric.offer("j", "q", ["a"])
    session = fabric._open.session
    held = took(fabric)
    publish(parse(namespace), queue_name(session.namespace, session.directory.registry.jobs["j"], "q"), [b"a"])
    assert fabric.take("j", "q") is None
    held.give_back()
    assert took(fabric).task == "a"


def test_what_the_broker_has_lost_is_offered_again(
    fabric: RabbitFabric, rabbit: Open, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if it had been killed right after the queue was made: all is gone but what is finished."""
    monkeypatch.setattr(rabbitmq_offers, "RESTORE_AFTER_S", 0.2)
    fabric.offer("j", "q", ["a", "b", "c"])
    took(fabric).done()
    session = fabric._open.session
    queue = queue_name(session.namespace, session.directory.registry.jobs["j"], "q")
    remove(parse(namespace), [queue])
    others = [rabbit(), rabbit()]
    found = [took(others[number % 2]) for number in range(2)]
    assert sorted(lease.task for lease in found) == ["b", "c"]
    for _ in range(30):
        for other in (fabric, *others):
            assert other.take("j", "q") is None
        time.sleep(0.02)
    for lease in found:
        lease.done()


def test_what_others_hold_is_not_offered_again(
    fabric: RabbitFabric, rabbit: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rabbitmq_offers, "RESTORE_AFTER_S", 0.0)
    fabric.offer("j", "q", ["a"])
    held = took(fabric)
    other = rabbit()
    for _ in range(30):
        assert other.take("j", "q") is None
        assert fabric.take("j", "q") is None
        time.sleep(0.02)
    held.done()
    for _ in range(30):
        assert other.take("j", "q") is None
        assert fabric.take("j", "q") is None
        time.sleep(0.02)


def test_a_finished_task_is_finished_even_if_the_broker_hands_it_out_again(
    fabric: RabbitFabric, rabbit: Open, namespace: str
) -> None:
    fabric.offer("j", "q", ["a"])
    session = fabric._open.session
    took(fabric).done()
    publish(parse(namespace), queue_name(session.namespace, session.directory.registry.jobs["j"], "q"), [b"a"])
    other = rabbit()
    assert other.take("j", "q") is None
    assert fabric.take("j", "q") is None


def test_leases_of_one_job_do_not_suffer_from_the_end_of_another(fabric: RabbitFabric, rabbit: Open) -> None:
    fabric.create_job("i", b"")
    for job in ("i", "j"):
        fabric.offer(job, "q", ["a"])
    ours, theirs = took(fabric, "j"), took(fabric, "i")
    rabbit().delete_job("i")
    fabric.catch_up()
    assert fabric.take("i", "q") is None
    assert not ours.lost
    theirs.done()
    ours.give_back()
    assert took(fabric, "j").attempt == 2


def test_many_idle_queues_are_looked_at_seldom(fabric: RabbitFabric, monkeypatch: pytest.MonkeyPatch) -> None:
    for queue in range(10):
        fabric.offer("j", f"q{queue}", ["a"])
        took(fabric, queue=f"q{queue}")
    looks: list[str] = []

    def counted(connection: Connection, name: str) -> Counts:
        looks.append(name)
        return counts(connection, name)

    monkeypatch.setattr(rabbitmq_lease, "counts", counted)
    for _ in range(200):
        for queue in range(10):
            assert fabric.take("j", f"q{queue}") is None
    assert 0 < len(looks) < 1000


def test_a_race_finishes_each_task_once(fabric: RabbitFabric, namespace: str) -> None:
    tasks = [f"t{number}" for number in range(40)]
    fabric.offer("j", "q", tasks)
    children = [Child(namespace) for _ in range(3)]
    for each in children:
        each.tell(finish_all, "j", "q")
    finished = [task for each in children for task, _ in each.answer()]  # type: ignore[attr-defined]
    while (lease := fabric.take("j", "q")) is not None:
        finished.append(lease.task)
    assert sorted(finished) == sorted(tasks)
    for each in children:
        each.stop()


def test_a_killed_holders_lease_is_taken_by_another(fabric: RabbitFabric, namespace: str) -> None:
    fabric.offer("j", "q", ["a"])
    for attempt in (1, 2):
        child = Child(namespace)
        assert child.ask(take_surely, "j", "q") == ("a", attempt)
        child.kill()
    lease = took(fabric)
    assert (lease.task, lease.attempt) == ("a", 3)
