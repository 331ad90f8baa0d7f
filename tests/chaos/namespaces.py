"""Hosts on one machine: network namespaces with an address each, joined by a switch that a test can cut."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from types import TracebackType

import pytest

NETWORK = "10.231.77"


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def need_namespaces() -> None:
    """They are root's to make, and not on every machine."""
    try:
        made = subprocess.run(["ip", "netns", "list"], capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no `ip` here to make network namespaces with")
    tried = subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False)
    if made.returncode or tried.returncode:
        pytest.skip("network namespaces need root")


class Hosts:
    """Namespaces named after labels. They do not outlive the block."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = list(labels)
        self._bridge = f"cb{os.getpid()}"

    def __enter__(self) -> Hosts:
        ip("link", "add", self._bridge, "type", "bridge")
        ip("link", "set", self._bridge, "up")
        for label in self.labels:
            space, inside, outside = self.space(label), f"ci{label}{os.getpid()}", f"co{label}{os.getpid()}"
            ip("netns", "add", space)
            ip("link", "add", outside, "type", "veth", "peer", "name", inside)
            ip("link", "set", inside, "netns", space)
            ip("link", "set", outside, "master", self._bridge)
            ip("link", "set", outside, "up")
            ip("-n", space, "addr", "add", f"{self.address(label)}/24", "dev", inside)
            ip("-n", space, "link", "set", inside, "up")
            ip("-n", space, "link", "set", "lo", "up")
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        for label in self.labels:
            subprocess.run(["ip", "netns", "del", self.space(label)], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", self._bridge], capture_output=True, check=False)

    def space(self, label: str) -> str:
        return f"cauce-{os.getpid()}-{label}"

    def address(self, label: str) -> str:
        return f"{NETWORK}.{self.labels.index(label) + 1}"

    def cut(self, label: str) -> None:
        """Nothing gets from or to this host any more."""
        ip("link", "set", f"co{label}{os.getpid()}", "down")

    def join(self, label: str) -> None:
        ip("link", "set", f"co{label}{os.getpid()}", "up")

    def inside(self, label: str, command: Sequence[str]) -> list[str]:
        return ["ip", "netns", "exec", self.space(label), *command]
