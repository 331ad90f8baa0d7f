"""The RabbitMQ fabric as a whole: nothing is left behind, nothing is used twice, a fork has its own."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

import pytest

from cauce.broker.nodes import Nodes
from cauce.errors import FabricError
from cauce.fabric import rabbitmq_directory, rabbitmq_queues, rabbitmq_sweep
from cauce.fabric.address import parse
from cauce.fabric.contract import Fabric
from cauce.fabric.rabbitmq import RabbitFabric
from cauce.fabric.rabbitmq_registry import Delete, Shelves, Trim
from tests.conformance.worlds import data, drain, names, took
from tests.fabric.children import Child, append, append_before_and_after_fork, end_leases_in_a_fork, take_surely
from tests.fabric.rabbit import queues_of

Open = Callable[[], RabbitFabric]


@pytest.fixture
def fabric(rabbit: Open) -> RabbitFabric:
    made = rabbit()
    made.create_job("j", b"")
    return made


def fill(fabric: RabbitFabric, job: str) -> None:
    fabric.create_job(job, b"")
    fabric.append_all(
        job, [("raw", data(0, 1)), ("home.a", data(0, 1)), ("home.b", data(0, 1)), ("edges.c", data(0, 1))]
    )
    fabric.offer(job, "q", ["a", "b"])


def test_it_keeps_the_contract(fabric: RabbitFabric) -> None:
    kept: Fabric = fabric
    assert kept.jobs() == ["j"]


def test_the_password_is_not_shown(fabric: RabbitFabric, namespace: str) -> None:
    password = parse(namespace).password
    assert password not in repr(fabric)
    assert password not in repr(fabric._broker)
    assert password not in str(fabric._broker)


def test_a_closed_fabric_cannot_be_used(fabric: RabbitFabric) -> None:
    fabric.close()
    fabric.close()
    with pytest.raises(FabricError, match="open another one"):
        fabric.jobs()


def test_closing_leaves_no_thread_and_no_descriptor(rabbit: Open) -> None:
    rabbit().close()
    threads, descriptors = threading.active_count(), len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        fabric = rabbit()
        fill(fabric, "j")
        drain(fabric, "j", "raw")
        fabric.close()
    assert threading.active_count() <= threads
    assert len(os.listdir("/proc/self/fd")) <= descriptors


@pytest.mark.slow
def test_nothing_is_left_of_jobs_that_were_deleted(fabric: RabbitFabric, broker: Nodes, namespace: str) -> None:
    for number in range(50):
        fill(fabric, f"job-{number}")
    assert len(queues_of(broker, namespace)) == 1 + 50 * 4
    for number in range(50):
        fabric.delete_job(f"job-{number}")
    assert queues_of(broker, namespace) == {f"{parse(namespace).namespace}.registry"}


def test_only_what_is_kept_is_left_of_a_trimmed_job(fabric: RabbitFabric, broker: Nodes, namespace: str) -> None:
    fill(fabric, "t")
    fabric.trim("t", ["home.a", "control.never-written"])
    left = [name.rsplit(".", 1)[1] for name in queues_of(broker, namespace)]
    assert sorted(left) == ["home", "registry"]
    assert names(drain(fabric, "t", "home.a")[0]) == [(0, 1)]
    assert drain(fabric, "t", "home.b")[0] == []


def test_names_are_never_used_twice(fabric: RabbitFabric, broker: Nodes, namespace: str) -> None:
    seen: set[str] = set()
    for _ in range(3):
        fill(fabric, "again")
        made = queues_of(broker, namespace) - {f"{parse(namespace).namespace}.registry"}
        assert len(made) == 4
        assert not made & seen
        seen |= made
        fabric.delete_job("again")


def test_a_job_may_be_deleted_while_another_writes_to_it(
    fabric: RabbitFabric, rabbit: Open, broker: Nodes, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rabbitmq_sweep, "HOUSE_S", 0.0)
    writer = rabbit()
    over = threading.Event()

    def write() -> None:
        seq = 0
        while not over.is_set():
            writer.append_all("j", [(f"log-{seq % 7}", data(0, seq)), ("s.log", data(0, seq))])
            writer.offer("j", "q", [f"t{seq}"])
            seq += 1

    thread = threading.Thread(target=write)
    thread.start()
    for number in range(15):
        fabric.delete_job("j")
        assert fabric.jobs() == []
        time.sleep(0.01 * (number % 5))
        fabric.create_job("j", str(number).encode())
    fabric.delete_job("j")
    over.set()
    thread.join()
    writer.catch_up()
    assert writer.jobs() == []
    assert queues_of(broker, namespace) == {f"{parse(namespace).namespace}.registry"}


@pytest.mark.parametrize("how", ["delete", "trim"])
def test_what_a_dead_one_has_not_swept_is_swept_by_another(
    fabric: RabbitFabric, rabbit: Open, broker: Nodes, namespace: str, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(rabbitmq_sweep, "SWEEP_AFTER_S", 0.1)
    monkeypatch.setattr(rabbitmq_sweep, "HOUSE_S", 0.0)
    fill(fabric, "t")
    dead = rabbit()
    incarnation = dead._open.session.directory.registry.jobs["t"].incarnation
    dead._open.session.say(
        [Delete(incarnation) if how == "delete" else Trim(incarnation, ["home.a"])], dead._deadline()
    )
    dead.close()
    other = rabbit()
    wait_until(lambda: other.jobs() is not None and not other._open.session.directory.registry.unswept)
    left = {name.rsplit(".", 1)[1] for name in queues_of(broker, namespace)}
    assert left == ({"registry"} if how == "delete" else {"registry", "home"})


def test_a_stream_that_a_dead_one_was_about_to_make_is_made_by_who_needs_it(fabric: RabbitFabric, rabbit: Open) -> None:
    """A message for it comes back, and the broker confirms it all the same: it must not count as written."""
    dead = rabbit()
    incarnation = dead._open.session.directory.registry.jobs["j"].incarnation
    dead._open.session.say([Shelves(incarnation, ["log"])], dead._deadline())
    dead.close()
    reader = rabbit()
    assert reader.read("j", "log", {}, 100).position == {}
    fabric.append("j", "log", data(0, 1))
    assert names(drain(reader, "j", "log")[0]) == [(0, 1)]
    reader.catch_up("j", "log")
    assert names(drain(fabric, "j", "log")[0]) == [(0, 1)]


def test_what_a_slow_one_made_after_the_sweep_is_removed_again(
    fabric: RabbitFabric, rabbit: Open, broker: Nodes, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer has seen its stream in the registry, and makes it only when the job has been deleted and swept."""
    monkeypatch.setattr(rabbitmq_sweep, "HOUSE_S", 0.0)
    slow = rabbit()
    make = slow._open.session.queues.make_streams

    def late(stream_names: list[str], deadline: float) -> None:
        fabric.delete_job("j")
        make(stream_names, deadline)

    monkeypatch.setattr(slow._open.session.queues, "make_streams", late)
    monkeypatch.setattr(rabbitmq_sweep, "UNDER_WAY_S", 0.1)
    slow.append("j", "log", data(0, 1))
    slow.catch_up()
    assert slow.jobs() == []
    assert queues_of(broker, namespace) == {f"{parse(namespace).namespace}.registry"}


def test_the_registry_stays_small_and_forgets_no_job_that_stands(
    rabbit: Open, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker cuts off its old end, and whoever starts then knows the same as all others."""
    monkeypatch.setattr(rabbitmq_directory, "RENEW_AFTER", 20)
    monkeypatch.setattr(rabbitmq_sweep, "HOUSE_S", 0.0)
    monkeypatch.setattr(rabbitmq_queues, "REGISTRY_BYTES", 40_000)
    monkeypatch.setattr(rabbitmq_queues, "_REGISTRY_SEGMENT_BYTES", 5_000)
    fabric = rabbit()
    for number in range(4):
        fill(fabric, f"job-{number}")
    fabric.trim("job-1", ["home.a"])
    for _ in range(600):
        fabric.catch_up()
        fabric.jobs()
    late = rabbit()
    registries = [each._open.session.directory.registry for each in (fabric, late)]
    assert registries[1].start is not None
    assert registries[1].start > 100
    for job in registries[0].jobs.values():
        assert registries[1].jobs[job.name].standing() == job.standing()
    assert late.jobs() == fabric.jobs() == [f"job-{number}" for number in range(4)]
    fabric.delete_job("job-2")
    late.catch_up()
    assert late.jobs() == ["job-0", "job-1", "job-3"]
    assert rabbit().jobs() == ["job-0", "job-1", "job-3"]


def test_a_forked_child_has_connections_of_its_own(fabric: RabbitFabric, namespace: str) -> None:
    child = Child(namespace)
    child.ask(append_before_and_after_fork, "j", "log")
    assert names(drain(fabric, "j", "log")[0]) == [(0, 0), (1, 0), (2, 0)]
    child.stop()


def test_a_forked_child_cannot_end_its_parents_lease(fabric: RabbitFabric, namespace: str) -> None:
    fabric.offer("j", "q", ["a"])
    child = Child(namespace)
    assert child.ask(take_surely, "j", "q") == ("a", 1)
    child.ask(end_leases_in_a_fork)
    for _ in range(20):
        assert fabric.take("j", "q") is None
    child.kill()
    assert took(fabric).attempt == 2


def test_what_a_killed_process_has_said_stays(fabric: RabbitFabric, namespace: str) -> None:
    writer = Child(namespace)
    writer.ask(append, "j", "log", 0, 10)
    writer.tell(append, "j", "log", 1, 1_000_000)
    while not any(each.producer == 1 for each in drain(fabric, "j", "log")[0]):
        pass
    writer.kill()
    found, _ = drain(fabric, "j", "log")
    of_each = [[each.seq for each in found if each.producer == producer] for producer in range(2)]
    assert of_each[0] == list(range(10))
    assert of_each[1] == list(range(len(of_each[1])))


def wait_until(condition: Callable[[], bool], patience_s: float = 30.0) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
