"""What is to be deployed: numbers, names and sizes, checked once. Plain values, no files."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cauce.broker.configuration import PATIENT_DISCOVERY
from cauce.deploy.sizes import GI, MI, bytes_of
from cauce.errors import UsageError

BROKERS = 3
"""Nodes of the RabbitMQ cluster: any one of them may die."""
BROKER_IMAGE = "rabbitmq:4.3"
IMAGE = "cauce:latest"
HTTP_PORT = 8080
"""On which a gateway listens in its container."""
AMQP_PORT = 5672

_NAME = re.compile(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?")
_IMAGE = re.compile(
    r"(?:[A-Za-z0-9.-]+(?::[0-9]+)?/)?[a-z0-9]+(?:[._/-]+[a-z0-9]+)*(?::[\w][\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?"
)
_VERSION = re.compile(r":(\d+)\.(\d+)")


@dataclass(frozen=True)
class Plan:
    """`memory` is that of a worker; all sizes are in bytes."""

    workers: int = 8
    gateways: int = 2
    doctors: int = 3
    name: str = "cauce"
    image: str = IMAGE
    broker_image: str = BROKER_IMAGE
    storage: int = 20 * GI
    memory: int = 2 * GI
    broker_memory: int = 2 * GI
    gateway_memory: int = 1 * GI
    doctor_memory: int = 512 * MI
    port: int = HTTP_PORT
    """The first of those on which Compose shows the gateways to this machine."""

    @property
    def broker_version(self) -> tuple[int, ...]:
        """As the tag of its image says; the newest we know of where it says none."""
        found = _VERSION.search(self.broker_image) or _VERSION.search(BROKER_IMAGE)
        assert found is not None
        return int(found[1]), int(found[2])


def checked(
    workers: int, gateways: int, doctors: int, name: str, image: str, broker_image: str, port: int, **sizes: str
) -> Plan:
    """A plan of options as they were given."""
    for option, given in (("--image", image), ("--broker-image", broker_image)):
        if not _IMAGE.fullmatch(given):
            raise UsageError(f"{option} {given} is no name of an image: write it as registry.example/cauce:1.0")
    if not _NAME.fullmatch(name):
        raise UsageError(f"--name {name} cannot be a name: use up to 40 small letters, digits and hyphens")
    if not port + gateways <= 65536:
        raise UsageError(f"--port {port} leaves no room for {gateways} gateways; each takes the next one")
    plan = Plan(
        workers,
        gateways,
        doctors,
        name,
        image,
        broker_image,
        storage=bytes_of(sizes["storage"], "--storage", 2 * GI),
        memory=bytes_of(sizes["memory"], "--memory", 512 * MI),
        broker_memory=bytes_of(sizes["broker_memory"], "--broker-memory", 512 * MI),
        port=port,
    )
    if plan.broker_version < PATIENT_DISCOVERY:
        oldest = ".".join(map(str, PATIENT_DISCOVERY))
        raise UsageError(f"--broker-image {broker_image} is too old: {oldest} is the oldest that is deployed")
    return plan
