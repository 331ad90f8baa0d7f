"""Opens the fabric that an address names."""

from __future__ import annotations

from cauce.errors import UsageError
from cauce.fabric.address import is_broker, parse, path_of
from cauce.fabric.contract import Durability, Fabric
from cauce.fabric.files.fabric import FilesFabric


def open_fabric(address: str, durability: Durability = "process") -> Fabric:
    """Raises a UsageError for an invalid address."""
    if not is_broker(address):
        return FilesFabric(path_of(address), durability=durability)
    broker = parse(address)
    if durability == "power":
        raise UsageError(
            'durability "power" is only available for the files fabric; the durability of RabbitMQ depends on the '
            "number of replicas: leave the option out and run three nodes or more"
        )
    # Imported here: the files fabric must work without the AMQP library.
    from cauce.fabric.rabbitmq.fabric import RabbitFabric

    return RabbitFabric(broker)
