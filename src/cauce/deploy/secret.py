"""What nobody else may know: made at random once, kept with the files, and never part of an image."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

USER = "cauce"
"""Of the RabbitMQ cluster."""
_BYTES = 32


@dataclass(frozen=True)
class Secrets:
    """In hexadecimal: they stand in addresses, configuration and environment files without being quoted."""

    password: str = field(repr=False)
    cookie: str = field(repr=False)
    """With which the nodes of the RabbitMQ cluster trust each other."""
    key: str = field(repr=False)
    """With which doctors trust each other's commands."""


def fresh() -> Secrets:
    return Secrets(*(secrets.token_hex(_BYTES) for _ in range(3)))
