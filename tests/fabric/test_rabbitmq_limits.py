"""Brokers that have no room, no patience, or small limits: each is told in a sentence, and work goes on afterwards."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from cauce.broker.nodes import Nodes
from cauce.errors import FabricError, FabricFull
from cauce.fabric.address import parse
from cauce.fabric.rabbitmq import RabbitFabric
from tests.conformance.worlds import data, drain, names, took
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
def test_an_alarm_of_the_broker_is_told_and_reading_goes_on(stressed: Nodes, size: int) -> None:
    with opened(in_own_namespace(stressed.address), patience_s=8.0) as fabric:
        fabric.append("j", "log", data(0, 1))
        fabric.offer("j", "q", ["a"])
        position = drain(fabric, "j", "log")[1]
        lease = took(fabric)
        with alarm(stressed):
            with pytest.raises(FabricFull, match=r"takes no messages for now \(low on memory\)"):
                fabric.append("j", "log", data(0, 2, body=bytes(size)))
            assert fabric.jobs() == ["j"]
            assert names(list(fabric.read("j", "log", {}, 100).records)) == [(0, 1)]
            assert not lease.lost
        wait_until(lambda: accepts(fabric))
        assert (0, 3) in names(drain(fabric, "j", "log", position)[0])
        lease.done()


@pytest.mark.slow
def test_an_alarm_that_passes_in_time_is_only_waited_for(stressed: Nodes) -> None:
    with opened(in_own_namespace(stressed.address), patience_s=120.0) as fabric:
        fabric.append("j", "log", data(0, 1))
        late = threading.Thread(target=fabric.append, args=("j", "log", data(0, 2)))
        with alarm(stressed):
            late.start()
            wait_until(lambda: fabric._open.session._publishing.blocked is not None)
            assert late.is_alive()
        late.join()
        assert names(drain(fabric, "j", "log")[0]) == [(0, 1), (0, 2)]


@pytest.mark.slow
def test_a_lease_that_the_broker_took_away_is_lost(stressed: Nodes) -> None:
    """Brokers take back what nobody acknowledges for so long; by default half an hour."""
    evaluate(stressed, "application:set_env(rabbit, channel_tick_interval, 500).")
    try:
        with opened(in_own_namespace(stressed.address)) as fabric:
            fabric.offer("j", "q", ["a"])
            evaluate(stressed, "application:set_env(rabbit, consumer_timeout, 1000).")
            lease = took(fabric)
            wait_until(lambda: lease.lost)
            evaluate(stressed, "application:set_env(rabbit, consumer_timeout, 86400000).")
            again = took(fabric)
            assert (again.task, again.attempt) == ("a", 2)
            again.done()
    finally:
        evaluate(stressed, "application:set_env(rabbit, consumer_timeout, 86400000).")
        evaluate(stressed, "application:set_env(rabbit, channel_tick_interval, 60000).")


@pytest.mark.slow
def test_a_broker_that_takes_only_small_messages_is_told(stressed: Nodes) -> None:
    evaluate(stressed, "application:set_env(rabbit, max_message_size, 100000).")
    try:
        with opened(in_own_namespace(stressed.address)) as fabric:
            fabric.append("j", "log", data(0, 1))
            with pytest.raises(FabricError, match="raise max_message_size"):
                fabric.append("j", "log", data(0, 2, body=bytes(1 << 20)))
            fabric.append("j", "log", data(0, 3))
            assert names(drain(fabric, "j", "log")[0]) == [(0, 1), (0, 3)]
    finally:
        evaluate(stressed, "application:set_env(rabbit, max_message_size, 134217728).")


def accepts(fabric: RabbitFabric) -> bool:
    try:
        fabric.append("j", "log", data(0, 3))
    except FabricFull:
        return False
    return True


def wait_until(condition: Callable[[], bool], patience_s: float = 60.0) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
