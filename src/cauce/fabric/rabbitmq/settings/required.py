"""Values of broker settings that the fabric relies on, for private nodes, deployments and checks alike."""

from __future__ import annotations

OLDEST = (3, 10)
"""The first version that balances stream leaders (`queue_leader_locator`)."""
DEVELOPED_FOR = (4, 0)
"""Older versions work and get only what costs nothing; they are out of support."""

NET_TICK_S = 10
NET_TICK_INTENSITY = 40
"""Ticks per net_ticktime. A node that is partitioned must detect the loss of all its peers at the same time: if the
partition heals when it has dropped only some of them, it neither pauses nor rejoins the cluster."""
NET_SETUP_S = 1
"""Connection timeout between nodes. If a node is partitioned, its peers wait this long, one after the other, for each
stream that it led, before they elect another leader."""
HEARTBEAT_S = 10
FRAME_MAX = 8 << 20
CONSUMER_TIMEOUT_MS = 24 * 60 * 60 * 1000
MEMORY_SHARE = 0.4
"""Share of the machine's memory, for all nodes together."""
SHORT_PEER_DISCOVERY = (3, 13)
"""Before this version, the first node of a new cluster still waits five seconds for its peers."""
TOO_NEW = (5,)
"""Major versions change what clients see: one is refused until it has been tested."""
PER_QUEUE_TIMEOUT = (3, 12)
"""From this version on a queue can define its own consumer timeout."""
DELIVERY_LIMIT = (4, 0)
"""From this version on a quorum queue drops a message after 20 deliveries unless the queue says otherwise."""
DISCONNECTED_TIMEOUT = (4, 3)
"""From this version on a quorum queue keeps the messages of a consumer whose node is down, by default for a minute."""
WITHOUT_SPLIT_METADATA = (4, 3)
"""From this version on the metadata of queues is replicated by consensus, and a node cannot return with its own."""
WITHOUT_PARTITION_HANDLING = (4, 3)
"""From this version on a minority always pauses, and the setting has no effect."""

RELIED_ON = f"""\
# Suggested to clients; a client may ask for less.
heartbeat = {HEARTBEAT_S}
# A peer that is silent for this long (in seconds) is considered down: a paused node, a cut cable.
net_ticktime = {NET_TICK_S}
# Leaders of streams and queues are spread over the nodes.
queue_leader_locator = balanced
# How long a message may stay unacknowledged, in milliseconds: longer than any task holds its lease.
consumer_timeout = {CONSUMER_TIMEOUT_MS}
# A message of a megabyte goes in one frame: twice as fast to read as in eight.
frame_max = {FRAME_MAX}
"""
"""Settings of every cluster, private or not."""
