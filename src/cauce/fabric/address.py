"""Which fabric an address names, and how to open it."""

from __future__ import annotations

from pathlib import Path

from cauce.fabric.contract import Durability, Fabric
from cauce.fabric.files import FilesFabric


def open_fabric(address: str, durability: Durability = "process") -> Fabric:
    return FilesFabric(Path(address.removeprefix("files:")), durability=durability)


def shown(address: str) -> str:
    return address
