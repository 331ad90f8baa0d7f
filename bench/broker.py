"""Resources that RabbitMQ nodes use: `python -m bench.broker --nodes 3 --count 200`.

Starts private nodes and stops them at the end. Prints resident memory and file descriptors of each node after its
start and per stream and quorum queue, and the time to declare and to delete one.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import amqp
import psutil

from cauce.lab.broker.nodes import Nodes, start

SETTLE_S = 5.0
"""Wait before memory and descriptors are sampled, so that the node can finish its clean-up."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1, choices=(1, 3))
    parser.add_argument("--count", type=int, default=500)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        began = time.monotonic()
        nodes = start(Path(scratch, "nodes"), arguments.nodes)
        _print(f"start: {time.monotonic() - began:.1f} s")
        try:
            measure(nodes, arguments.count)
        finally:
            nodes.stop(gently=False)


def measure(nodes: Nodes, count: int) -> None:
    before = sample(nodes)
    _print(f"after the start: {before[0] / 1e6:.0f} MB and {before[1]:.0f} descriptors on a node")
    node, layout = nodes.layout.nodes[0], nodes.layout
    with amqp.Connection(host=node.endpoint, userid=layout.user, password=layout.password) as connection:
        channel = connection.channel()
        for kind in ("stream", "quorum"):
            names = [f"{kind}-{number}" for number in range(count)]
            make = partial(channel.queue_declare, durable=True, auto_delete=False, arguments={"x-queue-type": kind})
            before = sample(nodes)
            made = [timed(make, name) for name in names]
            after = sample(nodes)
            gone = [timed(channel.queue_delete, name) for name in names]
            memory, descriptors = ((after[which] - before[which]) / count for which in (0, 1))
            _print(
                f"{kind}: declare {statistics.median(made):.1f} ms, delete {statistics.median(gone):.1f} ms "
                f"(medians of {count}); {memory / 1e3:.0f} KB and {descriptors:.1f} descriptors each, on a node"
            )


def sample(nodes: Nodes) -> tuple[float, float]:
    """Mean resident bytes and open descriptors of the nodes."""
    time.sleep(SETTLE_S)
    processes = [psutil.Process(pid) for name in nodes.names if (pid := nodes.pid(name)) is not None]
    return (
        statistics.mean(each.memory_info().rss for each in processes),
        statistics.mean(each.num_fds() for each in processes),
    )


def timed(act: Callable[[str], object], name: str) -> float:
    """Runs `act` and returns its duration in milliseconds."""
    began = time.perf_counter()
    act(name)
    return (time.perf_counter() - began) * 1e3


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
