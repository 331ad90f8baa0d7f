"""A private broker namespace for one run. No other process reads it, and it is removed with the run."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

from cauce.fabric.address import is_broker, parse


def private(address: str, name: str) -> str:
    """The address with a private namespace. The same name gives the same namespace, so that a run can be resumed."""
    if not is_broker(address):
        return address
    base, _, query = address.partition("?")
    options = dict(parse_qsl(query)) | {"namespace": namespace_of(parse(address).namespace, name)}
    return f"{base}?{urlencode(options)}"


def namespace_of(shared: str, name: str) -> str:
    """The private namespace for `name`, derived from the namespace of the service."""
    return f"{shared[:30]}-{name}"


def remove_private(address: str) -> None:
    if is_broker(address):
        from cauce.fabric.rabbitmq.fabric import RabbitFabric

        fabric = RabbitFabric(parse(address))
        try:
            fabric.remove_all()
        finally:
            fabric.close()
