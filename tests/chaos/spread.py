"""A service over several hosts: three broker nodes, three workers and two gateways, each on a host of its own, and two
hosts for clients. The third node, a worker, a gateway and a client are on the right, all else on the left."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from cauce.broker.nodes import Nodes, start
from cauce.chaos.processes import title_of
from cauce.gateway.tokens import create_token
from cauce.worker.process import HOLDS
from tests.chaos.hosts import Host, Network
from tests.service.running import until

RIGHT = ("r3", "w3", "g2", "c2")
NODES = ("r1", "r2", "r3")
WORKERS = ("w1", "w2", "w3")
GATEWAYS = ("g1", "g2")
CLIENTS = ("c1", "c2")
PORT = 8080
READY_S = 120.0
ESTABLISHED = "01"


@dataclass
class Spread:
    network: Network
    nodes: Nodes
    folder: Path
    fabric: str
    token: str
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def host(self, name: str) -> Host:
        return self.network.hosts[name]

    def url(self, name: str) -> str:
        return f"http://{self.host(name).address}:{PORT}"

    def mend(self) -> None:
        """All cables are in, everything runs, and the three nodes are one cluster."""
        self.network.heal()
        self.nodes.start()
        for name in (*WORKERS, *GATEWAYS):
            if name not in self.processes or self.processes[name].poll() is not None:
                self._start(name)
        for name in (*WORKERS, *GATEWAYS):
            until(f"{name} at work", lambda name=name: self._is_ready(name), READY_S)  # type: ignore[misc]
        self.until_whole()

    def until_whole(self) -> float:
        """All nodes are in one cluster, and each has a copy of all that it shall have one of; how long that took."""
        return until("a whole cluster", lambda: all(map(self.nodes.answers, NODES)) and self._is_whole(), READY_S)

    def _is_whole(self) -> bool:
        views = [self.status(name) for name in (NODES[0], NODES[-1])]
        if not all(len(seen["running_nodes"]) == len(NODES) and not seen["partitions"] for seen in views):
            return False
        told = self.nodes.ctl(NODES[0], "list_queues", "name", "members", "online", "--formatter", "json")
        queues = msgspec.json.decode(told, type=list[dict[str, Any]])
        return all(sorted(each["members"]) == sorted(each["online"]) for each in queues)

    def status(self, name: str) -> dict[str, Any]:
        """The cluster as one of its nodes sees it."""
        told = self.nodes.ctl(name, "cluster_status", "--formatter", "json")
        return msgspec.json.decode(told, type=dict[str, Any])

    def _start(self, name: str) -> None:
        own = self.folder / name
        own.mkdir(exist_ok=True)
        given = ["worker"] if name in WORKERS else ["gateway", "--host", self.host(name).address, "--port", str(PORT)]
        if name in GATEWAYS:
            given += ["--tokens", str(self.folder / "tokens.json")]
        command = [sys.executable, "-m", "cauce", *given, "--dir", str(own), "--fabric", self.fabric]
        with (own / "log").open("ab") as log:
            self.processes[name] = subprocess.Popen([*self.host(name).prefix, *command], stdout=log, stderr=log)

    def replace(self, name: str) -> None:
        """Ends a process whose time is over, so that the next test gets another one."""
        self.processes[name].kill()
        self.processes[name].wait()

    def _is_ready(self, name: str) -> bool:
        assert self.processes[name].poll() is None, (self.folder / name / "log").read_text()[-2000:]
        if name in WORKERS:
            # It takes its name when it is connected.
            return (title_of(self.processes[name].pid) or "").startswith("cauce worker")
        with socket.socket() as trial:
            trial.settimeout(1.0)
            return trial.connect_ex((self.host(name).address, PORT)) == 0

    def leases(self, name: str) -> int:
        """How many a worker says that it holds."""
        held = (title_of(self.processes[name].pid) or "").partition(HOLDS)[2]
        return int(held) if held.isdigit() else 0

    def connections(self, name: str) -> int:
        """How many clients are connected to a node."""
        # As the kernel has them on the node's own host.
        lines = Path(f"/proc/{self.nodes.pid(name)}/net/tcp").read_text().splitlines()[1:]
        found = [line.split()[1:4] for line in lines]
        port = f":{self.nodes.node(name).port:04X}"
        return sum(own.endswith(port) and state == ESTABLISHED for own, _, state in found)

    def close(self) -> None:
        for each in self.processes.values():
            each.send_signal(signal.SIGKILL)
            each.wait()
        self.nodes.stop(gently=False)


@contextmanager
def spread(folder: Path) -> Iterator[Spread]:
    """The calling thread is on the first client's host meanwhile."""
    with Network() as network:
        for name in (*NODES, *WORKERS, *GATEWAYS, *CLIENTS):
            network.add(name, "right" if name in RIGHT else "left")
        hosts = [network.hosts[name] for name in NODES]
        with network.hosts["c1"].entered():
            nodes = start(
                folder / "nodes", hosts=[each.address for each in hosts], prefixes=[each.prefix for each in hosts]
            )
            fabric = f"{nodes.address}?namespace=hosts-{os.getpid()}"
            made = Spread(network, nodes, folder, fabric, create_token(folder / "tokens.json", "tester"))
            try:
                yield made
            finally:
                made.close()
