"""What a node is told: the `rabbitmq.conf` that we rely on, and the environment that keeps it in its folder."""

from __future__ import annotations

import os
from collections.abc import Iterable

from cauce.broker.layout import Layout, Node, Place

NET_TICK_S = 10
NET_TICK_INTENSITY = 40
"""Of how many looks the time above consists. A node that is cut off has to give up all its peers at the same moment: if
the cut is healed when it has given up one of them, it neither stands still nor is a member again."""
NET_SETUP_S = 1
"""For how long a node tries to reach another one. If one is cut off, its peers try so once for each stream that it led,
one after the other, before another one leads it."""
HEARTBEAT_S = 10
FRAME_MAX = 8 << 20
CONSUMER_TIMEOUT_MS = 24 * 60 * 60 * 1000
MEMORY_SHARE = 0.4
"""Of the machine's memory, for all nodes together."""
PATIENT_DISCOVERY = (3, 13)
"""Before it a new node that holds the lock, and so is the first, still asks its peers for five seconds."""
WITHOUT_PARTITION_HANDLING = (4, 3)
"""From this version on a minority stands still without being told, and the key means nothing."""

RELIED_ON = f"""\
# Suggested to clients; a client may ask for less.
heartbeat = {HEARTBEAT_S}
# A peer that is silent for so long (in seconds) is taken for dead: a paused node, a cut cable.
net_ticktime = {NET_TICK_S}
# Leaders of streams and queues are spread over the nodes.
queue_leader_locator = balanced
# How long a message may stay unacknowledged, in milliseconds: longer than any task holds its lease.
consumer_timeout = {CONSUMER_TIMEOUT_MS}
# A message of a megabyte goes in one frame: twice as fast to read as in eight.
frame_max = {FRAME_MAX}
"""
"""What every cluster is told, private or not."""

SETTINGS = f"""\
{RELIED_ON}
# Below it, publishing stops until there is room again.
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
    if version < PATIENT_DISCOVERY:
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
        "# Nodes that do not see more than half of the cluster stand still.",
        "cluster_partition_handling = pause_minority",
    ]


def environment(place: Place, layout: Layout, node: Node) -> dict[str, str]:
    """The environment of a node's process. Every path in it is below the folder."""
    own = place.of(node)
    return {
        **_shared(place, layout, node),
        # The script then becomes the node, instead of waiting for it: one process, whose id we know.
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
        # A dump of a dead node is some hundred megabytes that nobody reads, and keeps it from being gone.
        "ERL_CRASH_DUMP_SECONDS": "0",
        "RABBITMQ_DIST_PORT": str(node.distribution_port),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": " ".join(_erlang(node)),
    }


def _erlang(node: Node) -> list[str]:
    """Flags of the runtime. One that has its name from the start needs no second runtime to look for epmd."""
    at = _address(node)
    return [
        f"-name {node.full_name}",
        "-start_epmd false",
        f"-kernel net_ticktime {NET_TICK_S} net_tickintensity {NET_TICK_INTENSITY} net_setuptime {NET_SETUP_S}",
        f"-kernel inet_dist_listen_min {node.distribution_port} inet_dist_listen_max {node.distribution_port}",
        f"-kernel inet_dist_use_interface {at} inet_dist_connect_options [{{ip,{at}}}]",
    ]


def _address(node: Node) -> str:
    """As Erlang writes it."""
    return "{" + node.host.replace(".", ",") + "}"


def control_environment(place: Place, layout: Layout, node: Node) -> dict[str, str]:
    """The environment of `rabbitmqctl` for a node."""
    return {
        **_shared(place, layout, node),
        # On the node's own address: its peers, which may be on other hosts, answer some questions themselves.
        "RABBITMQ_CTL_ERL_ARGS": f"-start_epmd false -kernel inet_dist_use_interface {_address(node)}",
        # Ten are given by default: too few where tests run side by side.
        "RABBITMQ_CTL_DIST_PORT_MIN": "40000",
        "RABBITMQ_CTL_DIST_PORT_MAX": "60000",
    }


def without_brokers() -> dict[str, str]:
    """This process's environment without what an operator's own broker may have left there."""
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
