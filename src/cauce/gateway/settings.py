"""Settings of a gateway: plain values without behaviour."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cauce.fabric.address import folder_of
from cauce.fabric.contract import Durability
from cauce.gateway.limits import ServiceLimits


@dataclass(frozen=True)
class GatewaySettings:
    """At most `room_bytes` of request bodies are buffered at once, at most half of that for one owner. A body must
    arrive at `body_bytes_per_s` or faster, averaged over `silence_s` seconds. Event streams do not count as requests.
    The gateway is not ready if the disk has fewer than `free_bytes` free."""

    folder: Path
    tokens: Path
    needs_token: bool = True
    limits: ServiceLimits = field(default_factory=ServiceLimits)
    datasets: tuple[Path, ...] = ()
    durability: Durability = "process"
    threads: int = 4
    requests: int = 512
    requests_per_owner: int = 64
    streams: int = 512
    streams_per_owner: int = 64
    room_bytes: int = 512 << 20
    silence_s: float = 60.0
    body_bytes_per_s: int = 1000
    free_bytes: int = 64 << 20
    fabric: str = ""
    """The fabric's address; empty if the jobs are stored in `folder`."""

    @property
    def address(self) -> str:
        return self.fabric or f"files:{self.folder}"

    @property
    def paths(self) -> list[Path]:
        """All files and folders of this machine that the gateway uses."""
        root = [self.root] if self.root is not None else []
        return [self.folder, self.tokens, *root, *self.datasets, *self.limits.references, *self.limits.private]

    @property
    def root(self) -> Path | None:
        """The folder that stores the jobs; None if a broker stores them."""
        return folder_of(self.address)
