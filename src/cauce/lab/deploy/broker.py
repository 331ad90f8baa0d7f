"""The settings of the deployed RabbitMQ cluster: those that every cluster needs, and those for containers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cauce.fabric.rabbitmq.settings.required import RELIED_ON
from cauce.lab.broker.configuration import listed_peers, partition_handling
from cauce.lab.deploy.plan import AMQP_PORT, Plan
from cauce.lab.deploy.rendering import rendered
from cauce.lab.deploy.secret import USER
from cauce.lab.deploy.sizes import MI

BY_ORDINAL = ["cluster_formation.peer_discovery_backend = k8s"]
"""For a StatefulSet: the first pod forms the cluster, and the others join it."""
TLS_FOLDER = "/etc/rabbitmq/tls"
"""With the certificate and the key, in the container of a node."""
_LISTENERS = f"""\
# Clients connect over TLS only, and authenticate with their password.
listeners.tcp = none
listeners.ssl.default = {AMQP_PORT}
ssl_options.certfile = {TLS_FOLDER}/tls.crt
ssl_options.keyfile = {TLS_FOLDER}/tls.key
ssl_options.versions.1 = tlsv1.3
ssl_options.versions.2 = tlsv1.2
ssl_options.verify = verify_none
ssl_options.fail_if_no_peer_cert = false"""
NAMESPACE = "cauce"
"""That of an address without one."""
MEMORY_PERCENT = 60
"""Share of a node's memory above which publishing is blocked; the rest is for other data than messages."""
DISK_SHARE, LEAST_FREE_DISK = 20, 512 * MI
"""One in this many parts of a disk, and this many bytes at least, must be free."""


def limits(plan: Plan) -> dict[str, object]:
    """Bytes of memory above which, and of free disk below which, publishing is blocked."""
    return {
        "memory_limit": plan.broker_memory * MEMORY_PERCENT // 100,
        "disk_limit": max(LEAST_FREE_DISK, plan.storage // DISK_SHARE),
    }


def settings(plan: Plan, discovery: Sequence[str], bounds: Mapping[str, object] | None = None) -> str:
    """The text of the nodes' configuration file; it holds no secret. `bounds` replaces the limits of the plan."""
    discovered = ["# Peer discovery, used once, while a node has no data.", *discovery]
    text = [*discovered, *partition_handling(plan.broker_version)]
    return _settings(plan, text, _LISTENERS, bounds)


def operator_settings(plan: Plan) -> str:
    """Those that the Cluster Operator does not write by itself, without comments: it limits their length."""
    lines = _settings(plan, [], "").splitlines()
    return "".join(f"{line}\n" for line in lines if line and not line.startswith(("#", "log.")))


def _settings(plan: Plan, discovery: Sequence[str], listeners: str, bounds: Mapping[str, object] | None = None) -> str:
    return rendered(
        "rabbitmq.conf",
        {
            "discovery": "\n".join(discovery),
            "listeners": listeners,
            "relied_on": RELIED_ON.rstrip(),
            "permissions": "\n".join(
                f"default_permissions.{right} = {pattern}" for right, pattern in permissions(NAMESPACE).items()
            ),
            **(bounds or limits(plan)),
        },
    )


def by_list(hosts: Sequence[str]) -> list[str]:
    return listed_peers(f"rabbit@{host}" for host in hosts)


def permissions(namespace: str) -> dict[str, str]:
    """The least that the fabric needs: its own streams and queues, and the default exchange to publish through."""
    own = f"^{namespace}[.-]"
    # The same for both: RabbitMQ's parser of `default_permissions` exchanges them.
    used = f"{own}|^amq[.]default"
    return {"configure": own, "write": used, "read": used}


def login(password: str) -> str:
    """Read only by a node without data: the first one creates the user."""
    return f"default_user = {USER}\ndefault_pass = {password}\n"


def address(password: str, hosts: Sequence[str], ca_file: str) -> str:
    """Of the cluster, for a process that has the authority's certificate in `ca_file`."""
    first, *others = endpoints(hosts)
    more = "".join(f",{other}" for other in others)
    return f"amqps://{USER}:{password}@{first}/%2F{more}?cafile={ca_file}"


def endpoints(hosts: Sequence[str]) -> list[str]:
    return [f"{host}:{AMQP_PORT}" for host in hosts]
