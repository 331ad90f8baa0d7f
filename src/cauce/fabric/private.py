"""A corner of a broker for one run alone: a namespace that no other process looks at, and that is gone with the run."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

from cauce.fabric.address import is_broker, parse


def private(address: str, name: str) -> str:
    """The address of such a corner. The same name gives the same one, so that a run can be taken up again."""
    if not is_broker(address):
        return address
    place, _, query = address.partition("?")
    options = dict(parse_qsl(query)) | {"namespace": namespace_of(parse(address).namespace, name)}
    return f"{place}?{urlencode(options)}"


def namespace_of(shared: str, name: str) -> str:
    """Of such a corner, beside the one that a service has."""
    return f"{shared[:30]}-{name}"


def remove_private(address: str) -> None:
    if is_broker(address):
        from cauce.fabric.rabbitmq import RabbitFabric

        fabric = RabbitFabric(parse(address))
        try:
            fabric.remove_all()
        finally:
            fabric.close()
