"""The RabbitMQ fabric as a whole: no leftovers, no reused names, separate connections after a fork."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest

from cauce.errors import FabricError, FabricLost, JobGone
from cauce.fabric.address import parse
from cauce.fabric.contract import START, Fabric
from cauce.fabric.names import Log
from cauce.fabric.rabbitmq import garbage_collection as rabbitmq_sweep
from cauce.fabric.rabbitmq import queues as rabbitmq_queues
from cauce.fabric.rabbitmq import registry_client as rabbitmq_directory
from cauce.fabric.rabbitmq.fabric import RabbitFabric
from cauce.fabric.rabbitmq.registry import Delete, LogGroups, Trim
from cauce.lab.broker.nodes import Nodes
from tests.conformance.worlds import data, drain, names, took
from tests.fabric.children import Child, append, append_before_and_after_fork, end_leases_in_a_fork, take_with_retry
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
        job,
        [
            (Log("raw"), data(0, 1)),
            (Log("home", "a"), data(0, 1)),
            (Log("home", "b"), data(0, 1)),
            (Log("edges", "c"), data(0, 1)),
        ],
    )
    fabric.enqueue(job, "q", ["a", "b"])


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
        drain(fabric, "j", Log("raw"))
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
    fabric.trim("t", [Log("home", "a"), Log("control", "never-written")])
    left = [name.rsplit(".", 1)[1] for name in queues_of(broker, namespace)]
    assert sorted(left) == ["home", "registry"]
    assert names(drain(fabric, "t", Log("home", "a"))[0]) == [(0, 1)]
    assert drain(fabric, "t", Log("home", "b"))[0] == []


def test_names_are_never_reused(fabric: RabbitFabric, broker: Nodes, namespace: str) -> None:
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
            with suppress(JobGone):
                writer.append_all("j", [(Log(f"log-{seq % 7}"), data(0, seq)), (Log("s", "log"), data(0, seq))])
            writer.enqueue("j", "q", [f"t{seq}"])
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
    writer.read_barrier()
    assert writer.jobs() == []
    assert queues_of(broker, namespace) == {f"{parse(namespace).namespace}.registry"}


@pytest.mark.parametrize("how", ["delete", "trim"])
def test_a_removal_of_a_crashed_process_is_completed_by_another(
    fabric: RabbitFabric, rabbit: Open, broker: Nodes, namespace: str, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(rabbitmq_sweep, "SWEEP_AFTER_S", 0.1)
    monkeypatch.setattr(rabbitmq_sweep, "HOUSE_S", 0.0)
    fill(fabric, "t")
    crashed = rabbit()
    incarnation = crashed._open.session.registry_client.registry.jobs["t"].incarnation
    crashed._open.session.append_and_apply(
        [Delete(incarnation) if how == "delete" else Trim(incarnation, ["home.a"])], crashed._deadline()
    )
    crashed.close()
    other = rabbit()
    wait_until(lambda: other.jobs() is not None and not other._open.session.registry_client.registry.unswept)
    left = {name.rsplit(".", 1)[1] for name in queues_of(broker, namespace)}
    assert left == ({"registry"} if how == "delete" else {"registry", "home"})


def test_a_stream_registered_by_a_crashed_process_is_declared_by_the_next_writer(
    fabric: RabbitFabric, rabbit: Open
) -> None:
    """The broker returns and confirms an unroutable message, which must not count as written."""
    crashed = rabbit()
    incarnation = crashed._open.session.registry_client.registry.jobs["j"].incarnation
    crashed._open.session.append_and_apply([LogGroups(incarnation, ["log"])], crashed._deadline())
    crashed.close()
    reader = rabbit()
    assert reader.read("j", Log("log"), START, 100).position == START
    fabric.append("j", Log("log"), data(0, 1))
    assert names(drain(reader, "j", Log("log"))[0]) == [(0, 1)]
    reader.read_barrier("j", Log("log"))
    assert names(drain(fabric, "j", Log("log"))[0]) == [(0, 1)]


def test_a_stream_declared_after_the_removal_is_removed_again(
    fabric: RabbitFabric, rabbit: Open, broker: Nodes, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer registered its stream, and declares it only after the job was deleted and its streams removed."""
    monkeypatch.setattr(rabbitmq_sweep, "HOUSE_S", 0.0)
    slow = rabbit()
    make = slow._open.session.queues.make_streams

    def late(stream_names: list[str], deadline: float) -> None:
        fabric.delete_job("j")
        make(stream_names, deadline)

    monkeypatch.setattr(slow._open.session.queues, "make_streams", late)
    monkeypatch.setattr(rabbitmq_sweep, "UNDER_WAY_S", 0.1)
    with pytest.raises(JobGone):
        slow.append("j", Log("log"), data(0, 1))
    assert slow.jobs() == []
    assert queues_of(broker, namespace) == {f"{parse(namespace).namespace}.registry"}


def test_a_second_removal_that_fails_is_repeated(
    fabric: RabbitFabric, broker: Nodes, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker with a node that was paused may list deleted streams again: they are deleted once more, later."""
    monkeypatch.setattr(rabbitmq_sweep, "SWEEP_AGAIN_S", 0.0)
    monkeypatch.setattr(rabbitmq_sweep, "HOUSE_S", 0.0)
    fabric.append("j", Log("log"), data(0, 1))
    (stream,) = (name for name in queues_of(broker, namespace) if name.endswith(".log"))
    fabric.delete_job("j")
    queues = fabric._open.session.queues
    queues.make_streams([stream], time.monotonic() + 10.0)
    remove, calls = queues.remove, []

    def failing_once(removed: Sequence[str], deadline: float) -> None:
        calls.extend(removed)
        if removed and len(calls) == 1:
            raise FabricLost("the broker does not answer in time")
        remove(removed, deadline)

    monkeypatch.setattr(queues, "remove", failing_once)
    wait_until(lambda: fabric.jobs() == [] and calls.count(stream) == 2)
    assert stream not in queues_of(broker, namespace)


def test_retention_of_the_registry_drops_no_existing_job(
    rabbit: Open, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After retention dropped old facts, a new process has the same state as all others."""
    monkeypatch.setattr(rabbitmq_directory, "RENEW_AFTER", 20)
    monkeypatch.setattr(rabbitmq_sweep, "HOUSE_S", 0.0)
    monkeypatch.setattr(rabbitmq_queues, "REGISTRY_BYTES", 40_000)
    monkeypatch.setattr(rabbitmq_queues, "_REGISTRY_SEGMENT_BYTES", 5_000)
    fabric = rabbit()
    for number in range(4):
        fill(fabric, f"job-{number}")
    fabric.trim("job-1", [Log("home", "a")])
    for _ in range(600):
        fabric.read_barrier()
        fabric.jobs()
    late = rabbit()
    registries = [each._open.session.registry_client.registry for each in (fabric, late)]
    assert registries[1].start is not None
    assert registries[1].start > 100
    for job in registries[0].jobs.values():
        assert registries[1].jobs[job.name].standing() == job.standing()
    assert late.jobs() == fabric.jobs() == [f"job-{number}" for number in range(4)]
    fabric.delete_job("job-2")
    late.read_barrier()
    assert late.jobs() == ["job-0", "job-1", "job-3"]
    assert rabbit().jobs() == ["job-0", "job-1", "job-3"]


def test_a_forked_child_has_connections_of_its_own(fabric: RabbitFabric, namespace: str) -> None:
    child = Child(namespace)
    child.ask(append_before_and_after_fork, "j", Log("log"))
    assert names(drain(fabric, "j", Log("log"))[0]) == [(0, 0), (1, 0), (2, 0)]
    child.stop()


def test_a_forked_child_cannot_end_its_parents_lease(fabric: RabbitFabric, namespace: str) -> None:
    fabric.enqueue("j", "q", ["a"])
    child = Child(namespace)
    assert child.ask(take_with_retry, "j", "q") == "a"
    child.ask(end_leases_in_a_fork)
    for _ in range(20):
        assert fabric.acquire("j", "q") is None
    child.kill()
    assert took(fabric).task == "a"


def test_records_of_a_killed_process_stay(fabric: RabbitFabric, namespace: str) -> None:
    writer = Child(namespace)
    writer.ask(append, "j", Log("log"), 0, 10)
    writer.start(append, "j", Log("log"), 1, 1_000_000)
    while not any(each.producer == 1 for each in drain(fabric, "j", Log("log"))[0]):
        pass
    writer.kill()
    found, _ = drain(fabric, "j", Log("log"))
    of_each = [[each.seq for each in found if each.producer == producer] for producer in range(2)]
    assert of_each[0] == list(range(10))
    assert of_each[1] == list(range(len(of_each[1])))


def wait_until(condition: Callable[[], bool], patience_s: float = 30.0) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
