"""Brokers with alarms, timeouts or small limits: each is reported in one message, and work continues afterwards."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from cauce.errors import FabricError, FabricFull
from cauce.fabric.address import parse
from cauce.fabric.contract import START
from cauce.fabric.names import Log
from cauce.fabric.rabbitmq import queues, task_queue
from cauce.fabric.rabbitmq.capability_probe import probe_broker
from cauce.fabric.rabbitmq.fabric import RabbitFabric
from cauce.fabric.rabbitmq.settings.facts import Rights
from cauce.lab.broker.nodes import Nodes
from tests.conformance.worlds import data, drain, names, took
from tests.fabric.children import Child, lost, ready, take_with_retry
from tests.fabric.rabbit import in_own_namespace


@contextmanager
def opened(address: str, patience_s: float = 30.0) -> Iterator[RabbitFabric]:
    fabric = RabbitFabric(parse(address), patience_s)
    fabric.create_job("j", b"")
    yield fabric
    fabric.delete_job("j")
    fabric.close()


def evaluate(nodes: Nodes, expression: str) -> str:
    """Runs a line of Erlang in the node."""
    return nodes.ctl("r1", "eval", expression)


@contextmanager
def alarm(nodes: Nodes) -> Iterator[None]:
    nodes.ctl("r1", "set_vm_memory_high_watermark", "0.000001")
    wait_until(lambda: "memory" in evaluate(nodes, "rabbit_alarm:get_alarms()."))
    yield
    nodes.ctl("r1", "set_vm_memory_high_watermark", "0.4")


@pytest.mark.slow
@pytest.mark.parametrize("size", [10, 6 << 20])
def test_an_alarm_of_the_broker_is_reported_and_reads_continue(stressed: Nodes, size: int) -> None:
    with opened(in_own_namespace(stressed.address), patience_s=8.0) as fabric:
        fabric.append("j", Log("log"), data(0, 1))
        fabric.enqueue("j", "q", ["a"])
        position = drain(fabric, "j", Log("log"))[1]
        lease = took(fabric)
        with alarm(stressed):
            with pytest.raises(FabricFull, match=r"accepts no messages now \(low on memory\)"):
                fabric.append("j", Log("log"), data(0, 2, body=bytes(size)))
            assert fabric.jobs() == ["j"]
            assert names(list(fabric.read("j", Log("log"), START, 100).records)) == [(0, 1)]
            assert not lease.lost
        wait_until(lambda: accepts(fabric))
        assert (0, 3) in names(drain(fabric, "j", Log("log"), position)[0])
        lease.complete()


@pytest.mark.slow
def test_an_alarm_that_passes_in_time_is_only_waited_for(stressed: Nodes) -> None:
    with opened(in_own_namespace(stressed.address), patience_s=120.0) as fabric:
        fabric.append("j", Log("log"), data(0, 1))
        late = threading.Thread(target=fabric.append, args=("j", Log("log"), data(0, 2)))
        with alarm(stressed):
            late.start()
            wait_until(lambda: fabric._open.session._publishing.blocked is not None)
            assert late.is_alive()
        late.join()
        assert names(drain(fabric, "j", Log("log"))[0]) == [(0, 1), (0, 2)]


@pytest.mark.slow
def test_the_capability_probe_detects_an_alarm(stressed: Nodes) -> None:
    broker = parse(in_own_namespace(stressed.address))
    with alarm(stressed):
        found = probe_broker(broker)
    assert (found.blocked, found.rights) == ("low on memory", Rights(configure=True, write=None, read=True))


@pytest.mark.slow
def test_a_lease_revoked_by_the_broker_is_lost(stressed: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers requeue a message that stays unacknowledged for too long, by default half an hour. Ours have a timeout of
    their own where the broker supports it."""
    monkeypatch.setattr(queues, "_LEASE_MS", 1000)
    evaluate(stressed, "application:set_env(rabbit, channel_tick_interval, 500).")
    try:
        with opened(in_own_namespace(stressed.address)) as fabric:
            fabric.enqueue("j", "q", ["a"])
            evaluate(stressed, "application:set_env(rabbit, consumer_timeout, 1000).")
            lease = took(fabric)
            wait_until(lambda: lease.lost)
            evaluate(stressed, "application:set_env(rabbit, consumer_timeout, 86400000).")
            again = took(fabric)
            assert again.task == "a"
            again.complete()
    finally:
        evaluate(stressed, "application:set_env(rabbit, consumer_timeout, 86400000).")
        evaluate(stressed, "application:set_env(rabbit, channel_tick_interval, 60000).")


@pytest.mark.slow
def test_a_message_size_limit_of_the_broker_is_reported(stressed: Nodes) -> None:
    limit = "application:set_env(rabbit, max_message_size, {0}), persistent_term:put(max_message_size, {0})."
    evaluate(stressed, limit.format(100_000))
    try:
        with opened(in_own_namespace(stressed.address)) as fabric:
            fabric.append("j", Log("log"), data(0, 1))
            with pytest.raises(FabricError, match="raise max_message_size"):
                fabric.append("j", Log("log"), data(0, 2, body=bytes(1 << 20)))
            fabric.append("j", Log("log"), data(0, 3))
            assert names(drain(fabric, "j", Log("log"))[0]) == [(0, 1), (0, 3)]
    finally:
        evaluate(stressed, limit.format(16 << 20))


@pytest.mark.slow
def test_a_user_without_permissions_is_reported(stressed: Nodes) -> None:
    address = in_own_namespace(stressed.address)
    stressed.ctl("r1", "add_user", "weak", "password")
    stressed.ctl("r1", "set_permissions", "weak", "^nothing$", ".*", ".*")
    try:
        with pytest.raises(FabricError, match="the configure, write and read permissions"):
            RabbitFabric(replace(parse(address), user="weak", password="password"))
    finally:
        stressed.ctl("r1", "delete_user", "weak")


@pytest.mark.slow
@pytest.mark.parametrize("age_s", [0.0, 5.0])
def test_nothing_is_lost_when_the_only_node_is_killed_and_started_again(
    stressed: Nodes, monkeypatch: pytest.MonkeyPatch, age_s: float
) -> None:
    """Not even tasks of a queue declared just before, which the broker loses."""
    monkeypatch.setattr(task_queue, "RESTORE_AFTER_S", 2.0)
    with opened(in_own_namespace(stressed.address), patience_s=300.0) as fabric:
        fabric.append("j", Log("log"), data(0, 1))
        fabric.enqueue("j", "q", ["a", "b", "c"])
        took(fabric).complete()
        lease = took(fabric)
        time.sleep(age_s)
        stressed.kill("r1")
        mending = threading.Thread(target=stressed.start)
        mending.start()
        fabric.append("j", Log("log"), data(0, 2))
        fabric.append("j", Log("new"), data(0, 3))
        mending.join()
        assert lease.lost
        assert {took(fabric, patience_s=120.0).task for _ in range(2)} == {"b", "c"}
        assert fabric.acquire("j", "q") is None
        assert set(names(drain(fabric, "j", Log("log"))[0])) == {(0, 1), (0, 2)}
        assert set(names(drain(fabric, "j", Log("new"))[0])) == {(0, 3)}


@pytest.mark.slow
def test_a_paused_process_loses_its_lease_and_detects_it_on_resume(stressed: Nodes) -> None:
    address = in_own_namespace(stressed.address)
    with opened(address) as fabric:
        fabric.enqueue("j", "q", ["a"])
        child = Child(address)
        pid = child.ask(ready)
        assert child.ask(take_with_retry, "j", "q") == "a"
        assert child.ask(lost) == [False]
        os.kill(pid, signal.SIGSTOP)
        lease = took(fabric, patience_s=120.0)
        os.kill(pid, signal.SIGCONT)
        assert lease.task == "a"
        wait_until(lambda: child.ask(lost) == [True])
        assert not lease.lost
        child.stop()


def accepts(fabric: RabbitFabric) -> bool:
    try:
        fabric.append("j", Log("log"), data(0, 3))
    except FabricFull:
        return False
    return True


def wait_until(condition: Callable[[], bool], patience_s: float = 60.0) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
