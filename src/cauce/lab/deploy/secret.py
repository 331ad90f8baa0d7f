"""The secrets of a deployment: generated once, kept with its files, never part of an image."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

USER = "cauce"
"""The user of the RabbitMQ cluster."""
_BYTES = 32


@dataclass(frozen=True)
class Secrets:
    """Secrets in hexadecimal: they need no quoting in addresses, configuration and environment files."""

    password: str = field(repr=False)
    cookie: str = field(repr=False)
    """Authenticates the nodes of the RabbitMQ cluster to each other."""
    key: str = field(repr=False)
    """Authenticates the datagrams of doctors."""


def fresh() -> Secrets:
    return Secrets(*(secrets.token_hex(_BYTES) for _ in range(3)))
