"""Helpers for tests on a shared broker: private namespaces and their content."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import replace

import amqp

from cauce.fabric.address import Broker, parse
from cauce.fabric.factory import open_fabric
from cauce.fabric.rabbitmq.queues import registry_name
from cauce.lab.broker.nodes import Nodes


def in_own_namespace(address: str) -> str:
    return f"{address}?namespace=t-{secrets.token_hex(6)}"


def direct(broker: Broker) -> amqp.Connection:
    """A direct connection, without the fabric."""
    host, port = broker.servers[0]
    made = amqp.Connection(
        f"{host}:{port}", broker.user, broker.password, virtual_host=broker.vhost, login_method="PLAIN"
    )
    made.connect()
    return made


def queues_of(nodes: Nodes, address: str) -> set[str]:
    """The names of all queues and streams of a namespace."""
    prefix = f"{parse(address).namespace}."
    listed = nodes.ctl(nodes.names[0], "list_queues", "--quiet", "--no-table-headers", "name").splitlines()
    return {name for name in map(str.strip, listed) if name.startswith(prefix)}


def remove_namespace(address: str) -> None:
    """Deletes all jobs, and the registry."""
    fabric = open_fabric(address)
    for job in (*fabric.jobs(), *fabric.service_logs()):
        fabric.delete_job(job)
    fabric.close()
    remove(parse(address), [registry_name(parse(address).namespace)])


def remove(broker: Broker, queues: Iterable[str]) -> None:
    with direct(broker) as connection, connection.channel() as channel:
        for queue in queues:
            channel.queue_delete(queue)


def through(address: str, port: int) -> Broker:
    """The broker's address through a proxy on this port."""
    return replace(parse(address), servers=(("127.0.0.1", port),))


def publish(broker: Broker, queue: str, bodies: Iterable[bytes]) -> None:
    """Publishes directly, without the fabric, in this order."""
    with direct(broker) as connection, connection.channel() as channel:
        channel.confirm_select()
        for body in bodies:
            channel.basic_publish_confirm(amqp.Message(body), routing_key=queue, mandatory=True)
