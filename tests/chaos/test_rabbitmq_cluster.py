"""Faults of a cluster of three broker nodes while jobs run: all jobs complete with the oracle's answers. Prints how
long work was stalled."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cauce.errors import BrokerFailed
from cauce.fabric.rabbitmq.settings.required import PER_QUEUE_TIMEOUT
from cauce.lab.broker.nodes import Nodes
from cauce.lab.broker.partitions import restart_partitioned
from cauce.lab.broker.releases import choose
from tests.brokers import store_metadata
from tests.chaos.interrupted import Case, Interrupted, half_way, make_case, until_work_goes_on
from tests.service.running import Running, until

SCALES = {"books": 0.0006, "coffee": 0.0003}
PAUSE_S = 15.0
RELEASE_S = 60.0
LISTED_S = 20.0
ALARM_S = 25.0


@dataclass(frozen=True)
class World:
    nodes: Nodes
    service: Running
    namespace: str
    timers: list[threading.Timer] = field(default_factory=list)

    def later(self, after_s: float, do: Callable[[], None]) -> threading.Timer:
        """It completes before the next test uses the nodes."""
        timer = threading.Timer(after_s, do)
        timer.start()
        self.timers.append(timer)
        return timer

    def kill_workers(self) -> None:
        workers = self.service.children("cauce worker")
        assert len(workers) == 2
        for pid in workers:
            os.kill(pid, signal.SIGKILL)

    def kill_gateway(self) -> None:
        os.kill(self.service.children("cauce gateway")[0], signal.SIGKILL)


OF_JOBS = ("control", "home", "journal", "edges", "raw-", "lease")


def left(world: World) -> list[str]:
    """Streams and queues of jobs that all nodes report: a node that was down for a while may report deleted ones, but
    each node also asks the others. Those of the service itself have other names."""
    known = [
        set(world.nodes.ctl(name, "list_queues", "name", patience_s=LISTED_S).split())
        for name in world.nodes.names
        if alive(world, name)
    ]
    named = [each.split(".") for each in sorted(set.intersection(*known))]
    return [".".join(each) for each in named if each[0] == world.namespace and each[2:] and each[2].startswith(OF_JOBS)]


def left_or_unknown(world: World) -> list[str]:
    """A node may not answer for a while, until it has taken over the streams of one that was killed."""
    try:
        return left(world)
    except BrokerFailed as problem:
        return [str(problem)]


def alive(world: World, name: str) -> bool:
    return world.nodes.pid(name) is not None and world.nodes.answers(name)


Fault = Callable[[World], None]
"""A fault, and its repair before the end of the test, in the background if necessary."""


def kill_node(name: str) -> Fault:
    def strike(world: World) -> None:
        world.nodes.kill(name)
        assert world.nodes.pid(name) is None

    return strike


def with_workers(name: str) -> Fault:
    def strike(world: World) -> None:
        world.kill_workers()
        world.nodes.kill(name)

    return strike


def with_gateway(world: World) -> None:
    world.kill_gateway()
    world.nodes.kill("r1")


def pause_node(name: str) -> Fault:
    def strike(world: World) -> None:
        world.nodes.pause(name)
        world.later(PAUSE_S, lambda: world.nodes.resume(name))

    return strike


def restart_one_after_another(world: World) -> None:
    for name in world.nodes.names:
        world.nodes.kill(name)
        world.nodes.start_again(name)


def lose_the_majority(world: World) -> None:
    world.nodes.kill("r1")
    world.nodes.kill("r2")
    for name in ("r1", "r2"):
        world.nodes.start_again(name, wait=False)
    world.nodes.wait_ready()


def lose_all(world: World) -> None:
    store_metadata(world.nodes)
    for name in world.nodes.names:
        world.nodes.kill(name)
    for name in world.nodes.names:
        world.nodes.start_again(name, wait=False)
    world.nodes.wait_ready()


def kill_again(world: World) -> None:
    """Kills the same node again as soon as it is back."""
    for _ in range(2):
        world.nodes.kill("r2")
        world.nodes.start_again("r2")


def close_connections(world: World) -> None:
    for _ in range(3):
        for name in world.nodes.names:
            world.nodes.ctl(name, "close_all_connections", "closed by a test")
        time.sleep(0.3)


def alarm(raised: list[str], lowered: list[str]) -> Fault:
    def strike(world: World) -> None:
        for name in world.nodes.names:
            world.nodes.ctl(name, *raised)

        def lower() -> None:
            for name in world.nodes.names:
                world.nodes.ctl(name, *lowered)

        timer = world.later(ALARM_S, lower)
        until("an alarm", lambda: "resource_limit" in world.nodes.ctl("r1", "eval", "rabbit_alarm:get_alarms()."))
        assert timer.is_alive(), "the alarm was over before anything could be sent"

    return strike


def take_leases_away(world: World) -> None:
    """Sets the broker's `consumer_timeout` to almost zero, so that leases are revoked."""
    if choose().version >= PER_QUEUE_TIMEOUT:
        pytest.skip("queues of leases have a timeout of their own, which no setting of the broker changes")
    set_timeout = "application:set_env(rabbit, consumer_timeout, {}), ok."
    for name in world.nodes.names:
        world.nodes.ctl(name, "eval", set_timeout.format(1000))

    def restore() -> None:
        for name in world.nodes.names:
            world.nodes.ctl(name, "eval", set_timeout.format(1_800_000))

    world.later(10.0, restore)


FAULTS: dict[str, Fault] = {
    **{f"kill node {name}": kill_node(name) for name in ("r1", "r2", "r3")},
    **{f"kill both workers and node {name}": with_workers(name) for name in ("r1", "r2", "r3")},
    "kill a gateway and a node": with_gateway,
    **{f"pause node {name}": pause_node(name) for name in ("r1", "r2", "r3")},
    "restart all, one after another": restart_one_after_another,
    "kill one node twice": kill_again,
    "lose the majority": lose_the_majority,
    "lose all nodes": lose_all,
    "close all connections": close_connections,
    "memory alarm": alarm(["set_vm_memory_high_watermark", "0"], ["set_vm_memory_high_watermark", "0.4"]),
    "disk alarm": alarm(["set_disk_free_limit", "1000GB"], ["set_disk_free_limit", "50MB"]),
    "leases taken away by the broker": take_leases_away,
}


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    return [make_case(name, tmp_path_factory.mktemp(name), scale) for name, scale in SCALES.items()]


@pytest.fixture
def world(fragile_cluster: Nodes, tmp_path: Path) -> Iterator[World]:
    namespace = f"faults-{os.getpid()}-{time.monotonic_ns()}"
    address = f"{fragile_cluster.address}?namespace={namespace}"
    with Running(tmp_path, "serve", "--workers", "2", "--gateways", "2", "--fabric", address) as service:
        made = World(fragile_cluster, service, namespace)
        yield made
    for timer in made.timers:
        timer.join()


IN_EVERY_ROUND = ("kill both workers and node r2",)


def marked(fault: str) -> object:
    return pytest.param(fault, marks=pytest.mark.slow if fault in IN_EVERY_ROUND else pytest.mark.soak)


@pytest.mark.parametrize("fault", [marked(fault) for fault in FAULTS])
def test_jobs_survive_broker_faults(fault: str, world: World, cases: list[Case]) -> None:
    clients = [Interrupted(case, world.service.url, f"{case.dataset}-job") for case in cases]
    half_way(clients)
    started = time.monotonic()
    FAULTS[fault](world)
    stood_s = until_work_goes_on(clients)
    sys.stdout.write(
        f"{fault}: work went on after {stood_s:.2f} s (the fault took {time.monotonic() - started:.1f} s)\n"
    )
    for client in clients:
        client.finish()
    due = time.monotonic() + RELEASE_S
    while found := left_or_unknown(world):
        assert time.monotonic() < due, f"not released: {found}"
        with suppress(BrokerFailed):
            restart_partitioned(world.nodes)
