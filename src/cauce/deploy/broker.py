"""What the deployed RabbitMQ cluster is told: the settings we rely on anywhere, and those of nodes in containers."""

from __future__ import annotations

from collections.abc import Sequence

from cauce.broker.configuration import NET_TICK_S, RELIED_ON, listed_peers, partition_handling
from cauce.deploy.plan import AMQP_PORT, Plan
from cauce.deploy.secret import USER
from cauce.deploy.sizes import MI

DATA = "/var/lib/rabbitmq"
COOKIE = f"{DATA}/.erlang.cookie"
SETTINGS = "/etc/rabbitmq/conf.d/50-cauce.conf"
LOGIN = "/etc/rabbitmq/conf.d/60-cauce-login.conf"
USER_ID = 999
"""Of `rabbitmq` in its official image."""
ENVIRONMENT = {
    # In force from the node's first moment, before it has read its configuration.
    "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": f"-kernel net_ticktime {NET_TICK_S}",
}
_MEMORY_PERCENT = 60
"""Of a node's memory, from which on publishing stops: the rest is for what it holds besides messages."""


def settings(plan: Plan, discovery: Sequence[str]) -> str:
    """The text of the nodes' configuration file; it holds no secret."""
    return "\n".join(
        [
            "# How nodes find each other, once, when they have no data yet.",
            *discovery,
            *partition_handling(plan.broker_version),
            RELIED_ON.rstrip(),
            f"listeners.tcp.default = {AMQP_PORT}",
            "# Bytes of memory above which, and of free disk below which, publishing stops until there is room again.",
            f"vm_memory_high_watermark.absolute = {plan.broker_memory * _MEMORY_PERCENT // 100}",
            f"disk_free_limit.absolute = {max(512 * MI, plan.storage // 20)}",
            "log.console = true",
            "log.console.level = info",
            "log.connection.level = warning",
            "",
        ]
    )


def by_list(hosts: Sequence[str]) -> list[str]:
    return listed_peers(f"rabbit@{host}" for host in hosts)


def by_ordinal() -> list[str]:
    """Of a StatefulSet: the first pod forms the cluster, and the others join it."""
    return ["cluster_formation.peer_discovery_backend = k8s"]


def login(password: str) -> str:
    """Read by a node without data alone: the first one makes the user."""
    return f"default_user = {USER}\ndefault_pass = {password}\n"


def address(password: str, hosts: Sequence[str]) -> str:
    first, *others = [f"{host}:{AMQP_PORT}" for host in hosts]
    return f"amqp://{USER}:{password}@{first}/%2F" + "".join(f",{other}" for other in others)
