"""Inspects nodes from outside: processes and ports."""

from __future__ import annotations

import socket

import psutil

from cauce.lab.broker.nodes import Nodes


def processes_of(nodes: Nodes) -> list[psutil.Process]:
    """The nodes, their name server, and all their descendants."""
    pids = [nodes.epmd_pid(), *map(nodes.pid, nodes.names)]
    own = [psutil.Process(pid) for pid in pids if pid is not None]
    return own + [child for process in own for child in process.children(recursive=True)]


def living(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Processes that still run after a grace period."""
    return [each for each in psutil.wait_procs(processes, timeout=20)[1] if each.status() != psutil.STATUS_ZOMBIE]


def open_ports(nodes: Nodes) -> list[int]:
    layout = nodes.layout
    ports = [layout.epmd_port, *(port for node in layout.nodes for port in (node.port, node.distribution_port))]
    return [port for port in ports if _is_open(port)]


def _is_open(port: int) -> bool:
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) == 0
