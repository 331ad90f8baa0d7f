"""Connections that break, stall or cannot be opened: confirmed records stay, unconfirmed ones raise an error."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from cauce.errors import FabricError, FabricLost
from cauce.fabric.address import parse
from cauce.fabric.contract import START, Position
from cauce.fabric.names import Log
from cauce.fabric.rabbitmq.connection.amqp import Connection
from cauce.fabric.rabbitmq.fabric import RabbitFabric
from cauce.fabric.records import Record
from tests.conformance.worlds import data, drain, names, took
from tests.fabric.proxy import Proxy
from tests.fabric.rabbit import through

Open = Callable[[], RabbitFabric]

CUTS = 10


@pytest.fixture
def fragile(namespace: str, proxy: Proxy) -> Iterator[RabbitFabric]:
    """A fabric behind the proxy, with a job `j`."""
    fabric = RabbitFabric(through(namespace, proxy.port))
    fabric.create_job("j", b"")
    yield fabric
    fabric.close()


@contextmanager
def cutting(proxy: Proxy, seed: int) -> Iterator[None]:
    """Closes all connections repeatedly, at times derived from a seed."""
    rng, over = random.Random(seed), threading.Event()

    def cut() -> None:
        while not over.wait(rng.uniform(0.0, 0.15)):
            proxy.cut()

    thread = threading.Thread(target=cut)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_nothing_confirmed_is_lost_when_connections_break(fragile: RabbitFabric, proxy: Proxy, rabbit: Open) -> None:
    count = 0
    with cutting(proxy, 1):
        while proxy.cuts < CUTS or count % 3:
            fragile.append("j", Log(f"log-{count % 3}"), data(0, count))
            count += 1
    reader = rabbit()
    for log in range(3):
        found = names(drain(reader, "j", Log(f"log-{log}"))[0])
        assert sorted(set(found)) == [(0, seq) for seq in range(log, count, 3)]


def test_a_reader_resumes_at_its_position(fragile: RabbitFabric, proxy: Proxy, rabbit: Open) -> None:
    writer = rabbit()
    position: Position = START
    found: list[Record] = []
    count = 0
    with cutting(proxy, 2):
        while proxy.cuts < CUTS:
            writer.append("j", Log("log"), data(0, count, body=bytes(1000)))
            more, position = drain(fragile, "j", Log("log"), position)
            found += more
            count += 1
    assert names(found) == [(0, seq) for seq in range(count)]


def test_a_cut_at_any_byte_of_an_append_loses_nothing(fragile: RabbitFabric, proxy: Proxy, rabbit: Open) -> None:
    fragile.append("j", Log("log"), data(0, 0))
    body = bytes(3 << 20)
    for seq, at in enumerate((1, 20, 100, 200_000, 1 << 20, 2 << 20, (2 << 20) + 100, 3 << 20), start=1):
        before = proxy.cuts
        proxy.cut_after(at)
        fragile.append("j", Log("log"), data(0, seq, body=body))
        assert proxy.cuts == before + 1
    found = drain(rabbit(), "j", Log("log"))[0]
    assert set(names(found)) == {(0, seq) for seq in range(9)}
    assert all(each.body == body for each in found if each.seq)


def test_jobs_are_created_and_deleted_once_though_connections_break(
    fragile: RabbitFabric, proxy: Proxy, rabbit: Open
) -> None:
    number = 0
    with cutting(proxy, 3):
        while proxy.cuts < CUTS or number < 10:
            number += 1
            assert fragile.create_job(f"job-{number}", str(number).encode()) == str(number).encode()
            fragile.enqueue(f"job-{number}", "q", ["a", "b"])
            if number % 2:
                fragile.delete_job(f"job-{number}")
    assert rabbit().jobs() == ["j", *(f"job-{even}" for even in range(2, number + 1, 2))]


def test_a_lease_is_lost_with_its_connection_and_goes_to_another(
    fragile: RabbitFabric, proxy: Proxy, rabbit: Open
) -> None:
    fragile.enqueue("j", "q", ["a"])
    lease = took(fragile)
    assert not lease.lost
    proxy.refuse()
    other = took(rabbit())
    assert other.task == "a"
    wait_until(lambda: lease.lost)
    proxy.admit()
    lease.release()
    assert not other.lost
    other.release()
    assert took(fragile).task == "a"


def test_a_task_finished_on_a_lost_lease_is_finished(fragile: RabbitFabric, proxy: Proxy, rabbit: Open) -> None:
    """All output was appended before `done` was called."""
    fragile.enqueue("j", "q", ["a", "b"])
    lease = took(fragile)
    proxy.cut()
    wait_until(lambda: lease.lost)
    lease.complete()
    assert took(fragile).task == "b"
    assert rabbit().acquire("j", "q") is None


def test_a_lease_redelivered_to_its_holder_is_not_dropped_as_a_duplicate(fragile: RabbitFabric, proxy: Proxy) -> None:
    fragile.enqueue("j", "q", ["a"])
    first = took(fragile)
    proxy.cut()
    wait_until(lambda: first.lost)
    second = took(fragile)
    assert second.task == "a"
    assert not second.lost
    first.complete()
    assert not second.lost


def test_a_stalled_broker_is_reported_within_the_timeout(namespace: str, proxy: Proxy) -> None:
    fabric = RabbitFabric(through(namespace, proxy.port), patience_s=2.0)
    fabric.create_job("j", b"")
    fabric.append("j", Log("log"), data(0, 1))
    proxy.stall()
    with pytest.raises(FabricLost):
        fabric.append("j", Log("log"), data(0, 2))
    proxy.resume()
    wait_until(lambda: succeeds(lambda: fabric.append("j", Log("log"), data(0, 3))))
    assert {1, 3} <= {each.seq for each in drain(fabric, "j", Log("log"))[0]}
    fabric.close()


def test_closing_does_not_wait_for_a_stalled_broker(namespace: str, proxy: Proxy) -> None:
    fabric = RabbitFabric(through(namespace, proxy.port))
    proxy.stall()
    began = time.monotonic()
    fabric.close()
    assert time.monotonic() - began < 20.0


def test_an_unreachable_broker_is_reported(namespace: str, proxy: Proxy) -> None:
    proxy.refuse()
    with pytest.raises(FabricLost, match="start it, or correct the address"):
        RabbitFabric(through(namespace, proxy.port), patience_s=0.5)
    assert proxy.refused


def test_a_wrong_password_is_reported_immediately_and_not_shown(namespace: str) -> None:
    broker = replace(parse(namespace), password="not-the-right-one")
    with pytest.raises(FabricError, match="check the user, the password and the vhost") as raised:
        RabbitFabric(broker, patience_s=600.0)
    assert "not-the-right-one" not in str(raised.value)


def test_a_missing_vhost_is_reported_immediately(namespace: str) -> None:
    with pytest.raises(FabricError, match="vhost 'nowhere'"):
        RabbitFabric(replace(parse(namespace), vhost="nowhere"), patience_s=600.0)


def test_the_next_server_of_the_address_is_tried(namespace: str, proxy: Proxy) -> None:
    broker = parse(namespace)
    proxy.refuse()
    for _ in range(3):
        fabric = RabbitFabric(replace(broker, servers=(("127.0.0.1", proxy.port), *broker.servers)))
        assert fabric.jobs() == []
        fabric.close()


@pytest.mark.slow
def test_an_unexpected_error_of_the_library_while_connecting_is_retried(
    namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread of a connection must outlive it: nothing else would connect again."""
    original, failed = Connection.connect, threading.Event()

    def connect(self: Connection, callback: Callable[[], None] | None = None) -> None:
        if not failed.is_set():
            failed.set()
            raise AttributeError("'NoneType' object has no attribute 'fileno'")
        original(self, callback)

    monkeypatch.setattr(Connection, "connect", connect)
    fabric = RabbitFabric(parse(namespace), patience_s=10.0)
    try:
        assert failed.is_set()
        fabric.create_job("j", b"")
        assert fabric.jobs() == ["j"]
    finally:
        fabric.close()


def test_leases_are_kept_while_the_process_computes(rabbit: Open) -> None:
    """Computes for longer than the heartbeat timeout, in bursts that hold the GIL."""
    fabric = rabbit()
    fabric.create_job("j", b"")
    fabric.enqueue("j", "q", ["a"])
    lease = took(fabric)
    numbers = np.arange(200_000)
    until = time.monotonic() + 20.0
    while time.monotonic() < until:
        sorted(numbers.tolist(), key=lambda number: -number)
    assert not lease.lost
    assert rabbit().acquire("j", "q") is None


def wait_until(condition: Callable[[], bool], patience_s: float = 30.0) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def succeeds(step: Callable[[], None]) -> bool:
    try:
        step()
    except FabricLost:
        return False
    return True
