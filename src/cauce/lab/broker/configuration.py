"""The configuration of a node: its `rabbitmq.conf`, and the environment that keeps all its files in its folder."""

from __future__ import annotations

import os
from collections.abc import Iterable

from cauce.fabric.rabbitmq.settings.required import (
    MEMORY_SHARE,
    NET_SETUP_S,
    NET_TICK_INTENSITY,
    NET_TICK_S,
    RELIED_ON,
    SHORT_PEER_DISCOVERY,
    WITHOUT_PARTITION_HANDLING,
)
from cauce.lab.broker.layout import Layout, Node, Place

SETTINGS = f"""\
{RELIED_ON}
# Below this limit, publishing is blocked until space is free.
disk_free_limit.absolute = 512MB

log.console = false
log.file.level = info
log.connection.level = warning
log.file.rotation.size = 10485760
log.file.rotation.count = 2
"""


def settings(version: tuple[int, ...], layout: Layout, node: Node) -> str:
    """The text of a node's `rabbitmq.conf`."""
    return "\n".join(
        [
            f"listeners.tcp.1 = {node.endpoint}",
            f"default_user = {layout.user}",
            f"default_pass = {layout.password}",
            f"vm_memory_high_watermark.relative = {MEMORY_SHARE / len(layout.nodes):.2f}",
            *(_clustering(version, layout) if len(layout.nodes) > 1 else ()),
            SETTINGS,
        ]
    )


def _clustering(version: tuple[int, ...], layout: Layout) -> list[str]:
    lines = listed_peers(peer.full_name for peer in layout.nodes)
    if version < SHORT_PEER_DISCOVERY:
        lines += ["cluster_formation.discovery_retry_limit = 1", "cluster_formation.discovery_retry_interval = 100"]
    return lines + partition_handling(version)


def listed_peers(names: Iterable[str]) -> list[str]:
    """Nodes find each other by names that are known beforehand."""
    return [
        "cluster_formation.peer_discovery_backend = classic_config",
        *(f"cluster_formation.classic_config.nodes.{number} = {name}" for number, name in enumerate(names, start=1)),
    ]


def partition_handling(version: tuple[int, ...]) -> list[str]:
    if version >= WITHOUT_PARTITION_HANDLING:
        return []
    return [
        "# Nodes that do not see a majority of the cluster pause.",
        "cluster_partition_handling = pause_minority",
    ]


def environment(place: Place, layout: Layout, node: Node) -> dict[str, str]:
    """The environment of a node's process. Every path in it is below the folder."""
    own = place.of(node)
    return {
        **_shared(place, layout, node),
        # The script then execs the node instead of waiting for it: one process, whose id we know.
        "RUNNING_UNDER_SYSTEMD": "true",
        "RABBITMQ_CONFIG_FILE": str(own / "rabbitmq.conf"),
        "RABBITMQ_ADVANCED_CONFIG_FILE": str(own / "advanced.config"),
        "RABBITMQ_CONFIG_FILES": str(own / "conf.d"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(own / "enabled_plugins"),
        "RABBITMQ_MNESIA_BASE": str(own / "data"),
        "RABBITMQ_FEATURE_FLAGS_FILE": str(own / "feature_flags"),
        "RABBITMQ_GENERATED_CONFIG_DIR": str(own / "generated"),
        "RABBITMQ_LOG_BASE": str(own / "log"),
        "RABBITMQ_LOGS": str(place.log(node)),
        "RABBITMQ_PID_FILE": str(own / "beam.pid"),
        # A crash dump has some hundred megabytes that are never read, and delays the exit.
        "ERL_CRASH_DUMP_SECONDS": "0",
        "RABBITMQ_DIST_PORT": str(node.distribution_port),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": " ".join(_erlang(node)),
    }


def _erlang(node: Node) -> list[str]:
    """Flags of the Erlang runtime. With its name given here, no second runtime is started to look for epmd."""
    at = _address(node)
    return [
        f"-name {node.full_name}",
        "-start_epmd false",
        f"-kernel net_ticktime {NET_TICK_S} net_tickintensity {NET_TICK_INTENSITY} net_setuptime {NET_SETUP_S}",
        f"-kernel inet_dist_listen_min {node.distribution_port} inet_dist_listen_max {node.distribution_port}",
        f"-kernel inet_dist_use_interface {at} inet_dist_connect_options [{{ip,{at}}}]",
    ]


def _address(node: Node) -> str:
    """In Erlang syntax."""
    return "{" + node.host.replace(".", ",") + "}"


def control_environment(place: Place, layout: Layout, node: Node) -> dict[str, str]:
    """The environment of `rabbitmqctl` for a node."""
    return {
        **_shared(place, layout, node),
        # On the node's own address: its peers, which may be on other hosts, answer some commands themselves.
        "RABBITMQ_CTL_ERL_ARGS": f"-start_epmd false -kernel inet_dist_use_interface {_address(node)}",
        # The default is ten: too few when tests run in parallel.
        "RABBITMQ_CTL_DIST_PORT_MIN": "40000",
        "RABBITMQ_CTL_DIST_PORT_MAX": "60000",
    }


def without_brokers() -> dict[str, str]:
    """This process's environment without the variables of another RabbitMQ installation."""
    others = ("RABBITMQ_", "ERL_", "NOTIFY_")
    return {name: value for name, value in os.environ.items() if not name.startswith(others)}


def _shared(place: Place, layout: Layout, node: Node) -> dict[str, str]:
    return {
        **without_brokers(),
        "HOME": str(place.home),
        "ERL_EPMD_PORT": str(layout.epmd_port),
        "RABBITMQ_CONF_ENV_FILE": os.devnull,
        "RABBITMQ_NODENAME": node.full_name,
        "RABBITMQ_USE_LONGNAME": "true",
    }
