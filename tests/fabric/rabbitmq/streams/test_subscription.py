"""A consumer that the broker has forgotten: nothing arrives, and no error either, as after a partition of its nodes."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing

import amqp
import pytest
from amqp import spec

from cauce.fabric.address import parse
from cauce.fabric.contract import Position
from cauce.fabric.names import Log
from cauce.fabric.rabbitmq import registry_client
from cauce.fabric.rabbitmq.connection.amqp import BrokerChannel, Connection
from cauce.fabric.rabbitmq.fabric import RabbitFabric
from cauce.fabric.rabbitmq.streams import reader
from cauce.fabric.rabbitmq.streams.subscription import Subscription
from tests.conformance.worlds import data, drain, names

Open = Callable[[], RabbitFabric]
SOON_S = 0.2
PATIENCE_S = 8.0


@pytest.fixture
def fabric(namespace: str, monkeypatch: pytest.MonkeyPatch) -> RabbitFabric:
    for module in (registry_client, reader):
        for name in ("SILENT_S", "IDLE_S"):
            monkeypatch.setattr(module, name, SOON_S)
    made = RabbitFabric(parse(namespace), PATIENCE_S)
    made.create_job("j", b"")
    made.append("j", Log("log"), data(0, 0))
    return made


def forget(fabric: RabbitFabric) -> int:
    """Makes the broker forget all consumers of a fabric, unknown to it. Returns how many."""
    found = list(fabric._open.session._subscriptions._open)
    for each in found:
        each.link.call(lambda connection, each=each: _cancel(connection, each), time.monotonic() + PATIENCE_S)
    return len(found)


def _cancel(connection: Connection, subscription: Subscription) -> None:
    channel = subscription._channel
    assert channel is not None
    for tag in list(channel.callbacks):
        channel.basic_cancel(tag)
    assert not subscription.ended


def read_until(fabric: RabbitFabric, position: Position) -> list[tuple[int, int]]:
    due = time.monotonic() + PATIENCE_S
    while not (batch := fabric.read("j", Log("log"), position, 1 << 20)).records:
        assert time.monotonic() < due
        time.sleep(0.02)
    return names(batch.records)


def test_the_registry_is_subscribed_to_again(fabric: RabbitFabric) -> None:
    assert forget(fabric) == 1
    fabric.create_job("k", b"k")
    assert fabric.jobs() == ["j", "k"]
    fabric.close()


def test_a_reader_that_waits_for_its_own_append_subscribes_again(fabric: RabbitFabric) -> None:
    _, position = drain(fabric, "j", Log("log"))
    assert forget(fabric) == 2
    fabric.append("j", Log("log"), data(0, 1))
    assert read_until(fabric, position) == [(0, 1)]
    fabric.close()


def test_an_idle_reader_subscribes_again(fabric: RabbitFabric, rabbit: Open) -> None:
    _, position = drain(fabric, "j", Log("log"))
    assert forget(fabric) == 2
    rabbit().append("j", Log("log"), data(1, 7))
    assert read_until(fabric, position) == [(1, 7)]
    fabric.close()


def test_messages_that_arrive_before_the_answer_to_the_subscription_are_not_rejected(
    fabric: RabbitFabric, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy broker may send them first. Here the answer is held back until messages have arrived."""
    fabric.append("j", Log("log"), data(0, *range(1, 20)))
    consume = amqp.Channel.basic_consume

    def slow_consume(channel: BrokerChannel, *args: object, **options: object) -> object:
        process = channel.dispatch_method
        arrived: list[object] = []

        def message_first(method: object, *rest: object) -> object:
            arrived.append(method)
            while method == spec.Basic.ConsumeOk and spec.Basic.Deliver not in arrived:
                channel.connection.drain_events()
            return process(method, *rest)

        monkeypatch.setattr(channel, "dispatch_method", message_first)
        return consume(channel, *args, **options)

    rejected: list[object] = []
    monkeypatch.setattr(amqp.Channel, "basic_consume", slow_consume)
    monkeypatch.setattr(amqp.Channel, "basic_reject", lambda channel, tag, requeue: rejected.append(tag))
    with closing(RabbitFabric(parse(namespace), PATIENCE_S)) as other:
        assert names(drain(other, "j", Log("log"))[0]) == [(0, number) for number in range(20)]
    assert rejected == []
