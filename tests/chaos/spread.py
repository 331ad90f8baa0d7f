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

from cauce.gateway.tokens import create_token
from cauce.lab.broker.hosts import Host, Network
from cauce.lab.broker.nodes import Nodes, start
from cauce.process.lease_count import LEASE_COUNTS_VARIABLE, lease_count
from tests.brokers import use_khepri_if_chosen
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
        """Connects all hosts, and waits until everything runs and the three nodes form one cluster."""
        self.network.heal()
        self.nodes.start()
        for name in (*WORKERS, *GATEWAYS):
            if name not in self.processes or self.processes[name].poll() is not None:
                self._start(name)
        for name in (*WORKERS, *GATEWAYS):
            until(f"{name} at work", lambda name=name: self._is_ready(name), READY_S)  # type: ignore[misc]
        self.until_whole()

    def until_whole(self) -> float:
        """Waits until all nodes are in one cluster with all their replicas. Returns how long it took."""
        return until("a whole cluster", lambda: all(map(self.nodes.answers, NODES)) and self._is_whole(), READY_S)

    def _is_whole(self) -> bool:
        views = [self.status(name) for name in (NODES[0], NODES[-1])]
        if not all(len(seen["running_nodes"]) == len(NODES) and not seen["partitions"] for seen in views):
            return False
        output = self.nodes.ctl(NODES[0], "list_queues", "name", "members", "online", "--formatter", "json")
        queues = msgspec.json.decode(output, type=list[dict[str, Any]])
        return all(sorted(each["members"]) == sorted(each["online"]) for each in queues)

    def status(self, name: str) -> dict[str, Any]:
        """The cluster status as one of its nodes reports it."""
        output = self.nodes.ctl(name, "cluster_status", "--formatter", "json")
        return msgspec.json.decode(output, type=dict[str, Any])

    def _start(self, name: str) -> None:
        own = self.folder / name
        own.mkdir(exist_ok=True)
        given = ["worker"] if name in WORKERS else ["gateway", "--host", self.host(name).address, "--port", str(PORT)]
        if name in GATEWAYS:
            given += ["--tokens", str(self.folder / "tokens.json")]
        command = [sys.executable, "-m", "cauce", *given, "--dir", str(own), "--fabric", self.fabric]
        with (own / "log").open("ab") as log:
            environment = {**os.environ, LEASE_COUNTS_VARIABLE: str(own)}
            self.processes[name] = subprocess.Popen(
                [*self.host(name).prefix, *command], env=environment, stdout=log, stderr=log
            )

    def replace(self, name: str) -> None:
        """Terminates a process, so that the next test gets a new one."""
        self.processes[name].kill()
        self.processes[name].wait()

    def _is_ready(self, name: str) -> bool:
        assert self.processes[name].poll() is None, (self.folder / name / "log").read_text()[-2000:]
        if name in WORKERS:
            # It publishes the number of its leases when it is connected.
            return lease_count(self.folder / name, self.processes[name].pid) is not None
        with socket.socket() as trial:
            trial.settimeout(1.0)
            return trial.connect_ex((self.host(name).address, PORT)) == 0

    def leases(self, name: str) -> int:
        return lease_count(self.folder / name, self.processes[name].pid) or 0

    def connections(self, name: str) -> int:
        """The number of clients connected to a node."""
        # Counted by the kernel on the node's own host.
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
    """Runs the block on the first client's host."""
    with Network() as network:
        for name in (*NODES, *WORKERS, *GATEWAYS, *CLIENTS):
            network.add(name, "right" if name in RIGHT else "left")
        hosts = [network.hosts[name] for name in NODES]
        with network.hosts["c1"].entered():
            nodes = start(
                folder / "nodes", hosts=[each.address for each in hosts], prefixes=[each.prefix for each in hosts]
            )
            use_khepri_if_chosen(nodes)
            fabric = f"{nodes.address}?namespace=hosts-{os.getpid()}"
            made = Spread(network, nodes, folder, fabric, create_token(folder / "tokens.json", "tester"))
            try:
                yield made
            finally:
                made.close()
