"""A real RabbitMQ node with the settings, the user and the TLS listener of a written deployment, on this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from cauce.errors import BrokerFailed
from cauce.fabric.address import parse
from cauce.lab.broker.layout import write_private
from cauce.lab.broker.nodes import Nodes, prepare
from cauce.lab.deploy.broker import TLS_FOLDER, login
from cauce.lab.deploy.certificates import Certificates, issued
from cauce.lab.deploy.plan import AMQP_PORT
from tests.broker_guardian import become_user, guard
from tests.chaos.running import until
from tests.lab.deploy.reading import Written

HOST = "localhost"
NODE = "r1"
DISCOVERY = "cluster_formation."
"""Settings that name hosts which are not here."""


@dataclass(frozen=True)
class DeployedNode:
    nodes: Nodes
    address: str
    """The one of the deployment, with the host, the port and the authority of this machine."""
    ca_file: Path


@contextmanager
def running(written: Written, folder: Path) -> Iterator[DeployedNode]:
    """Starts the node, with a certificate for this machine from an authority of its own."""
    certificates = issued([HOST])
    with become_user(folder):
        guard(folder, folder / "nodes")
        nodes = prepare(folder / "nodes", 1)
        try:
            yield _started(written, nodes, certificates)
        finally:
            nodes.stop(gently=False)
            shutil.rmtree(nodes.place.of(nodes.node(NODE)) / "data", ignore_errors=True)


def _started(written: Written, nodes: Nodes, certificates: Certificates) -> DeployedNode:
    node = nodes.node(NODE)
    own = nodes.place.of(node)
    tls = own / "tls"
    for name, text in (("tls.crt", certificates.server), ("tls.key", certificates.server_key)):
        write_private(tls / name, text)
    ca_file = tls / "ca.crt"
    write_private(ca_file, certificates.authority)
    # The ports that the node has for plain TCP, which its settings now forbid.
    settings = written.read("rabbitmq.conf").replace(TLS_FOLDER, str(tls)).replace(str(AMQP_PORT), str(node.port))
    lines = [line for line in settings.splitlines() if not line.startswith(DISCOVERY)]
    broker = parse(written.fabric())
    write_private(own / "conf.d" / "50-cauce.conf", "\n".join(lines) + "\n")
    write_private(own / "conf.d" / "60-cauce-login.conf", login(broker.password))
    nodes.start_again(NODE, wait=False)
    until(f"{NODE} has started", lambda: _has_started(nodes))
    address = f"amqps://{broker.user}:{broker.password}@{HOST}:{node.port}/%2F?cafile={quote(str(ca_file))}"
    return DeployedNode(nodes, address, ca_file)


def _has_started(nodes: Nodes) -> bool:
    try:
        nodes.ctl(NODE, "await_startup")
    except BrokerFailed:
        # Until its process has registered itself, there is no such node.
        assert nodes.pid(NODE) is not None, "the node has ended"
        return False
    return True
