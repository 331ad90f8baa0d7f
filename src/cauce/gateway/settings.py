"""How a gateway is set up. Plain values: what they say is done elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cauce.fabric.contract import Durability
from cauce.gateway.limits import ServiceLimits


@dataclass(frozen=True)
class GatewaySettings:
    """`room_bytes` of bodies are held at once, half of them of one owner at most."""

    folder: Path
    tokens: Path
    needs_token: bool = True
    limits: ServiceLimits = field(default_factory=ServiceLimits)
    datasets: tuple[Path, ...] = ()
    durability: Durability = "process"
    threads: int = 4
    requests: int = 512
    requests_per_owner: int = 64
    room_bytes: int = 512 << 20
    silence_s: float = 60.0
    fabric: str = ""
    """Its address, where the jobs are not kept in the folder."""

    @property
    def address(self) -> str:
        return self.fabric or f"files:{self.folder}"
