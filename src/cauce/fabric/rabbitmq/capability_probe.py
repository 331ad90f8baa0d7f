"""Probes a broker over AMQP: the parameters of each server, support for streams and quorum queues, and the user's
permissions. Leaves nothing behind."""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import monotonic

import amqp

from cauce.errors import FabricLost
from cauce.fabric.address import Broker
from cauce.fabric.rabbitmq.connection.amqp import ANSWER_S, CONNECT_S, Connection
from cauce.fabric.rabbitmq.connection.connection_thread import ChangeSignal, ConnectionThread
from cauce.fabric.rabbitmq.queues import queue_name, registry_name, stream_name
from cauce.fabric.rabbitmq.registry import Job
from cauce.fabric.rabbitmq.settings.facts import AmqpFacts, Rights, Tuning

KINDS = ("stream", "quorum")
_WRITE_S = 5.0
"""Timeout of a publisher confirm; a broker with a resource alarm sends none."""


def probe_broker(broker: Broker) -> AmqpFacts:
    """Raises if no server answers or the login is refused."""
    links = {f"{host}:{port}": _link(broker, (host, port)) for host, port in broker.servers}
    try:
        servers = {server: _tuning(link) for server, link in links.items()}
        found = next((server for server, tuning in servers.items() if tuning is not None), None)
        if found is None:
            raise next(iter(links.values())).lost()
        return _tried(broker, links[found], servers)
    finally:
        for link in links.values():
            link.request_stop()
        for link in links.values():
            link.close()


def sample_names(namespace: str) -> list[str]:
    """One example name of each kind of stream and queue that the fabric declares."""
    job = Job("sample", secrets.token_hex(16), b"", 0, 0)
    logs = [stream_name(namespace, job, log) for log in ("in", "fold")]
    return [registry_name(namespace), *logs, queue_name(namespace, job, "work")]


def _link(broker: Broker, server: tuple[str, int]) -> ConnectionThread:
    return ConnectionThread(replace(broker, servers=(server,)), "cauce check", ChangeSignal())


def _tuning(link: ConnectionThread) -> Tuning | None:
    deadline = monotonic() + CONNECT_S
    try:
        link.wait_connected(deadline)
        return link.ask(lambda connection: connection.tuning, deadline)
    except FabricLost:
        return None


def _tried(broker: Broker, link: ConnectionThread, servers: dict[str, Tuning | None]) -> AmqpFacts:
    name = f"{broker.namespace}.trial.{secrets.token_hex(8)}"
    made = {kind: link.ask(partial(_make, name=f"{name}.{kind}", kind=kind), _soon()) for kind in KINDS}
    kinds = {kind: problem for kind, (allowed, problem) in made.items() if allowed}
    read = link.ask(partial(_read, name=name), _soon())
    # Last: a broker with a resource alarm blocks the connection after a publish.
    write, blocked = link.ask(partial(_write, name=name), _soon())
    rights = Rights(configure=all(allowed for allowed, _ in made.values()), write=write, read=read)
    return AmqpFacts(broker.user, broker.vhost, servers, rights, kinds, blocked)


def _soon() -> float:
    return monotonic() + ANSWER_S


def _make(connection: Connection, name: str, kind: str) -> tuple[bool, str | None]:
    """Whether the declaration was permitted, and the broker's error if it failed."""
    try:
        connection.spare.queue_declare(name, durable=True, auto_delete=False, arguments={"x-queue-type": kind})
    except amqp.AccessRefused:
        return False, None
    except amqp.ChannelError as problem:
        return True, str(problem.reply_text)
    connection.spare.queue_delete(name)
    return True, None


def _read(connection: Connection, name: str) -> bool:
    """The broker checks the permission before it reports that the queue does not exist."""
    with suppress(amqp.NotFound):
        try:
            connection.spare.basic_get(name)
        except amqp.AccessRefused:
            return False
    return True


def _write(connection: Connection, name: str) -> tuple[bool | None, str | None]:
    """Whether publishing is permitted, or why the broker blocks it now. The message is unroutable and dropped."""
    channel = connection.channel()
    try:
        connection.answer_s = _WRITE_S
        channel.basic_publish_confirm(amqp.Message(b"trial"), routing_key=name)
    except amqp.AccessRefused:
        return False, None
    except TimeoutError:
        return None, connection.blocked
    channel.close()
    return True, None
