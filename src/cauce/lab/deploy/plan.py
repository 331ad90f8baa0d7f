"""The plan of a deployment: numbers, names and sizes, validated once. Plain values, no files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cauce.errors import UsageError
from cauce.fabric.rabbitmq.settings.required import NET_SETUP_S, NET_TICK_S, SHORT_PEER_DISCOVERY
from cauce.lab.deploy.sizes import GI, MI, quantity

BROKERS = 3
"""Nodes of the RabbitMQ cluster: any one of them may fail."""
BROKER_IMAGE = "rabbitmq:4.3"
IMAGE = "cauce:latest"
HTTP_PORT = 8080
"""On which a gateway listens in its container."""
AMQP_PORT = 5671
"""Over TLS; no other port of a node accepts clients."""
DOCTOR_PORT = 7700
"""The UDP port on which a doctor receives heartbeats."""

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
    """The first port of this machine on which Compose publishes the gateways."""
    operator: bool = False
    """Whether the RabbitMQ Cluster Operator of the Kubernetes cluster runs the nodes."""

    def check(self) -> None:
        """Raises a UsageError that names the wrong option."""
        for option, image in (("--image", self.image), ("--broker-image", self.broker_image)):
            if not _IMAGE.fullmatch(image):
                raise UsageError(
                    f"{option} {image} is not the name of an image: write it as registry.example/cauce:1.0"
                )
        if not _NAME.fullmatch(self.name):
            raise UsageError(f"--name {self.name} is invalid: use at most 40 lower-case letters, digits and hyphens")
        if not self.port + self.gateways <= 65536:
            raise UsageError(
                f"--port {self.port} is too high for {self.gateways} gateways: each uses the next port, up to 65535"
            )
        if self.broker_version < SHORT_PEER_DISCOVERY:
            oldest = ".".join(map(str, SHORT_PEER_DISCOVERY))
            raise UsageError(f"--broker-image {self.broker_image} is too old: {oldest} is the oldest supported version")

    @property
    def broker_version(self) -> tuple[int, ...]:
        """The version in the tag of its image; the newest known one if the tag has none."""
        found = _VERSION.search(self.broker_image) or _VERSION.search(BROKER_IMAGE)
        assert found is not None
        return int(found[1]), int(found[2])


def values(plan: Plan, size: Callable[[int], str]) -> dict[str, object]:
    """The placeholders that the templates of both platforms have. `size` writes an amount of memory."""
    return {
        "name": plan.name,
        "image": plan.image,
        "broker_image": plan.broker_image,
        "workers": plan.workers,
        "gateways": plan.gateways,
        "doctor_count": plan.doctors,
        "worker_memory": size(plan.memory),
        "gateway_memory": size(plan.gateway_memory),
        "doctor_memory": size(plan.doctor_memory),
        "broker_memory": size(plan.broker_memory),
        "storage": quantity(plan.storage),
        # Effective from the start of a node, before it reads its configuration.
        "net_tick_s": NET_TICK_S,
        "net_setup_s": NET_SETUP_S,
        "twice_the_workers": 2 * plan.workers,
        "counted": f"{_some(plan.gateways, 'gateway')}, {_some(plan.workers, 'worker')}, "
        f"{_some(plan.doctors, 'doctor')} and a RabbitMQ cluster of three",
    }


def doctor_addresses(hosts: Sequence[str]) -> str:
    """The value of `--doctors`. A container is a host of its own: it cannot see the processes of another one."""
    return ",".join(f"doctor-{n}@doctor-{n}={host}:{DOCTOR_PORT}" for n, host in enumerate(hosts, start=1))


def _some(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count > 1 else ''}"
