"""Leases on a broker: crashed offers are taken over, duplicates are dropped."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from cauce.fabric.address import parse
from cauce.fabric.rabbitmq import lease as rabbitmq_lease
from cauce.fabric.rabbitmq import task_queue
from cauce.fabric.rabbitmq.connection.amqp import Connection
from cauce.fabric.rabbitmq.fabric import RabbitFabric
from cauce.fabric.rabbitmq.queues import EMPTY, Counts, counts, queue_name
from cauce.fabric.rabbitmq.registry import Offer
from tests.conformance.worlds import took
from tests.fabric.children import Child, finish_all, take_with_retry
from tests.fabric.rabbit import publish, remove

Open = Callable[[], RabbitFabric]


@pytest.fixture
def fabric(rabbit: Open) -> RabbitFabric:
    made = rabbit()
    made.create_job("j", b"")
    return made


def incarnation(fabric: RabbitFabric) -> str:
    return fabric._open.session.registry_client.registry.jobs["j"].incarnation


def test_an_offer_of_a_crashed_process_is_taken_over(
    fabric: RabbitFabric, rabbit: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_queue, "TAKE_OVER_AFTER_S", 0.2)
    crashed = rabbit()
    crashed._open.session.append_and_apply([Offer(incarnation(fabric), "q", ["a", "b"], "token")], crashed._deadline())
    crashed.close()
    assert [took(fabric).task for _ in range(2)] == ["a", "b"]
    fabric.enqueue("j", "q", ["a", "b"])
    assert fabric.acquire("j", "q") is None


def test_a_published_offer_is_not_taken_over(
    fabric: RabbitFabric, rabbit: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_queue, "TAKE_OVER_AFTER_S", 0.0)
    fabric.enqueue("j", "q", ["a"])
    held = took(fabric)
    others = [rabbit(), rabbit()]
    for _ in range(20):
        for other in (fabric, *others):
            assert other.acquire("j", "q") is None
    held.complete()


def test_a_duplicate_message_of_a_finished_task_is_dropped(fabric: RabbitFabric, namespace: str) -> None:
    fabric.enqueue("j", "q", ["a", "b"])
    session = fabric._open.session
    queue = queue_name(session.namespace, session.registry_client.registry.jobs["j"], "q")
    first = took(fabric)
    publish(parse(namespace), queue, [b"a"])
    second = took(fabric)
    assert [first.task, second.task] == ["a", "b"]
    assert fabric.acquire("j", "q") is None
    first.complete()
    second.complete()
    publish(parse(namespace), queue, [b"b", b"a"])
    assert fabric.acquire("j", "q") is None
    assert session._holding.call(lambda connection: counts(connection, queue), fabric._deadline()) == EMPTY


def test_a_duplicate_message_of_a_held_task_is_dropped_without_finishing_the_task(
    fabric: RabbitFabric, namespace: str
) -> None:
    fabric.enqueue("j", "q", ["a"])
    session = fabric._open.session
    held = took(fabric)
    publish(parse(namespace), queue_name(session.namespace, session.registry_client.registry.jobs["j"], "q"), [b"a"])
    assert fabric.acquire("j", "q") is None
    held.release()
    assert took(fabric).task == "a"


def test_messages_lost_by_the_broker_are_enqueued_again(
    fabric: RabbitFabric, rabbit: Open, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Simulates a broker that was killed right after the declaration: all messages are lost, finished tasks are not."""
    monkeypatch.setattr(task_queue, "RESTORE_AFTER_S", 0.2)
    fabric.enqueue("j", "q", ["a", "b", "c"])
    took(fabric).complete()
    session = fabric._open.session
    queue = queue_name(session.namespace, session.registry_client.registry.jobs["j"], "q")
    remove(parse(namespace), [queue])
    others = [rabbit(), rabbit()]
    found = [took(others[number % 2]) for number in range(2)]
    assert sorted(lease.task for lease in found) == ["b", "c"]
    for _ in range(30):
        for other in (fabric, *others):
            assert other.acquire("j", "q") is None
        time.sleep(0.02)
    for lease in found:
        lease.complete()


def test_leases_held_by_others_are_not_enqueued_again(
    fabric: RabbitFabric, rabbit: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_queue, "RESTORE_AFTER_S", 0.0)
    fabric.enqueue("j", "q", ["a"])
    held = took(fabric)
    other = rabbit()
    for _ in range(30):
        assert other.acquire("j", "q") is None
        assert fabric.acquire("j", "q") is None
        time.sleep(0.02)
    held.complete()
    for _ in range(30):
        assert other.acquire("j", "q") is None
        assert fabric.acquire("j", "q") is None
        time.sleep(0.02)


def test_a_finished_task_stays_finished_after_a_redelivery(fabric: RabbitFabric, rabbit: Open, namespace: str) -> None:
    fabric.enqueue("j", "q", ["a"])
    session = fabric._open.session
    took(fabric).complete()
    publish(parse(namespace), queue_name(session.namespace, session.registry_client.registry.jobs["j"], "q"), [b"a"])
    other = rabbit()
    assert other.acquire("j", "q") is None
    assert fabric.acquire("j", "q") is None


def test_the_end_of_a_job_does_not_affect_leases_of_another(fabric: RabbitFabric, rabbit: Open) -> None:
    fabric.create_job("i", b"")
    for job in ("i", "j"):
        fabric.enqueue(job, "q", ["a"])
    ours, theirs = took(fabric, "j"), took(fabric, "i")
    rabbit().delete_job("i")
    fabric.read_barrier()
    assert fabric.acquire("i", "q") is None
    assert not ours.lost
    theirs.complete()
    ours.release()
    assert took(fabric, "j").task == "a"


def test_many_idle_queues_are_polled_rarely(fabric: RabbitFabric, monkeypatch: pytest.MonkeyPatch) -> None:
    for queue in range(10):
        fabric.enqueue("j", f"q{queue}", ["a"])
        took(fabric, queue=f"q{queue}")
    looks: list[str] = []

    def counted(connection: Connection, name: str) -> Counts:
        looks.append(name)
        return counts(connection, name)

    monkeypatch.setattr(rabbitmq_lease, "counts", counted)
    for _ in range(200):
        for queue in range(10):
            assert fabric.acquire("j", f"q{queue}") is None
    assert 0 < len(looks) < 1000


def test_a_race_finishes_each_task_once(fabric: RabbitFabric, namespace: str) -> None:
    tasks = [f"t{number}" for number in range(40)]
    fabric.enqueue("j", "q", tasks)
    children = [Child(namespace) for _ in range(3)]
    for each in children:
        each.start(finish_all, "j", "q")
    finished = [task for each in children for task in each.answer()]  # type: ignore[attr-defined]
    while (lease := fabric.acquire("j", "q")) is not None:
        finished.append(lease.task)
    assert sorted(finished) == sorted(tasks)
    for each in children:
        each.stop()


def test_a_lease_of_a_killed_holder_is_acquired_by_another(fabric: RabbitFabric, namespace: str) -> None:
    fabric.enqueue("j", "q", ["a"])
    for _ in range(2):
        child = Child(namespace)
        assert child.ask(take_with_retry, "j", "q") == "a"
        child.kill()
    lease = took(fabric)
    assert lease.task == "a"
