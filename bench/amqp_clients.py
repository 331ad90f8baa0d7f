"""Client libraries of RabbitMQ: each publishes to a stream and consumes it, as documented."""

from __future__ import annotations

import asyncio
import importlib.util
import time
from collections.abc import Callable
from contextlib import suppress

import amqp

from cauce.fabric.address import Broker
from cauce.fabric.rabbitmq.connection.amqp import FRAME_BYTES, Connection

STREAM = {"x-queue-type": "stream"}
PREFETCH = 16

Mark = tuple[float, float]
"""Wall time and processor time, in seconds."""

Library = Callable[[Broker, str, int, bytes], tuple[Mark, Mark, Mark]]
"""Declares a stream, publishes `count` messages, consumes them and deletes the stream. Returns the times of the
start, of the last confirm and of the last delivery."""


def mark() -> Mark:
    return time.perf_counter(), time.process_time()


def py_amqp(frame_bytes: int) -> Library:
    def connect(broker: Broker) -> amqp.Connection:
        class Tuned(amqp.Connection):  # type: ignore[misc]
            def _on_tune(self, channels: int, frame_max: int, heartbeat: int, argsig: str = "BlB") -> None:
                super()._on_tune(channels, min(frame_max, frame_bytes), heartbeat, argsig)

        host, port = broker.servers[0]
        return Tuned(f"{host}:{port}", broker.user, broker.password, virtual_host=broker.vhost)

    return _with(connect)


def cauce_connection(broker: Broker) -> amqp.Connection:
    return Connection(broker, broker.servers[0], "bench")


def _with(connect: Callable[[Broker], amqp.Connection]) -> Library:
    def run(broker: Broker, name: str, count: int, body: bytes) -> tuple[Mark, Mark, Mark]:
        with connect(broker) as connection:
            channel = connection.channel()
            channel.queue_declare(name, durable=True, auto_delete=False, arguments=STREAM)
            began = mark()
            for _ in range(count):
                channel.basic_publish(amqp.Message(body), routing_key=name)
            channel.queue_declare(name, passive=True)
            published = mark()
            channel.basic_qos(0, PREFETCH, False)
            left = count

            def receive(message: amqp.Message) -> None:
                nonlocal left
                left -= 1
                message.channel.basic_ack(message.delivery_tag)

            channel.basic_consume(
                name, callback=receive, arguments={"x-stream-offset": "first"}, on_cancel=lambda tag: None
            )
            while left:
                connection.drain_events(timeout=60)
            consumed = mark()
            channel.queue_delete(name)
        return began, published, consumed

    return run


def pika(broker: Broker, name: str, count: int, body: bytes) -> tuple[Mark, Mark, Mark]:
    import pika as library  # type: ignore[import-not-found, unused-ignore]

    host, port = broker.servers[0]
    access = library.PlainCredentials(broker.user, broker.password)
    connection = library.BlockingConnection(library.ConnectionParameters(host, port, broker.vhost, access))
    channel = connection.channel()
    channel.queue_declare(name, durable=True, arguments=STREAM)
    began = mark()
    for _ in range(count):
        channel.basic_publish("", name, body)
    channel.queue_declare(name, passive=True)
    published = mark()
    channel.basic_qos(prefetch_count=PREFETCH)
    for number, (method, _, _) in enumerate(channel.consume(name, arguments={"x-stream-offset": "first"}), start=1):
        channel.basic_ack(method.delivery_tag)
        if number == count:
            break
    consumed = mark()
    channel.cancel()
    channel.queue_delete(name)
    connection.close()
    return began, published, consumed


def aio_pika(broker: Broker, name: str, count: int, body: bytes) -> tuple[Mark, Mark, Mark]:
    return asyncio.run(_aio_pika(broker, name, count, body))


async def _aio_pika(broker: Broker, name: str, count: int, body: bytes) -> tuple[Mark, Mark, Mark]:
    import aio_pika as library  # type: ignore[import-not-found, unused-ignore]

    host, port = broker.servers[0]
    connection = await library.connect(
        host=host, port=port, login=broker.user, password=broker.password, virtualhost=broker.vhost
    )
    channel = await connection.channel(publisher_confirms=False)
    queue = await channel.declare_queue(name, durable=True, arguments=STREAM)
    began = mark()
    for _ in range(count):
        await channel.default_exchange.publish(library.Message(body), name)
    await channel.declare_queue(name, passive=True)
    published = mark()
    await channel.set_qos(PREFETCH)
    left, all_received = count, asyncio.Event()

    async def receive(message: library.abc.AbstractIncomingMessage) -> None:
        nonlocal left
        await message.ack()
        left -= 1
        if not left:
            all_received.set()

    await queue.consume(receive, arguments={"x-stream-offset": "first"})
    await all_received.wait()
    consumed = mark()
    with suppress(Exception):
        await queue.delete(if_unused=False, if_empty=False)
    await connection.close()
    return began, published, consumed


_ALL: dict[str, tuple[str, Library]] = {
    "py-amqp, 128 KiB": ("amqp", py_amqp(128 << 10)),
    "py-amqp, 2 MiB": ("amqp", py_amqp(FRAME_BYTES)),
    "Cauce's connection, 2 MiB": ("amqp", _with(cauce_connection)),
    "pika": ("pika", pika),
    "aio-pika": ("aio_pika", aio_pika),
}
LIBRARIES = {name: library for name, (module, library) in _ALL.items() if importlib.util.find_spec(module)}
"""The installed libraries. The number is the maximum frame size; the broker must allow it."""
