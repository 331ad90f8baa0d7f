"""Appends to a stream and reads it while nodes of the broker are killed, paused, restarted and partitioned, and checks
that nothing is lost, reordered or invented. Uses the fabric: the retries of a real process are part of the trial."""

from __future__ import annotations

import random
import secrets
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

from cauce.errors import BrokerFailed, FabricLost
from cauce.fabric.address import Broker, parse
from cauce.fabric.contract import START, Position
from cauce.fabric.names import Log
from cauce.fabric.rabbitmq.fabric import RabbitFabric
from cauce.fabric.records import Kind, Record, record
from cauce.lab.broker.hosts import Network
from cauce.lab.broker.nodes import Nodes
from cauce.lab.broker.partitions import restart_partitioned
from cauce.lab.chaos.stream_checker import Entry, History, Verdict, check

JOB, LOG = "checked", Log("log")
BATCH = 4
READ_BYTES = 1 << 20
PATIENCE_S = 120.0
PAUSE_S = 15.0
"""Longer than `net_ticktime`: the other nodes consider a paused node down."""
CALM_S = 2.0
"""Between two faults: work continues before the next one."""
_LOOK_S = 0.02
_BODY = struct.Struct("<II")
_WRONG: Entry = (-1, -1)
"""Stands for a record whose content is not that of its writer and number."""


@dataclass(frozen=True)
class Outcome:
    fault: str
    times: int
    """How often the fault was injected."""
    stalled_s: float
    """The longest time in which no append was confirmed."""
    verdict: Verdict


class _Writer(threading.Thread):
    def __init__(self, broker: Broker, number: int, over: threading.Event) -> None:
        super().__init__(name=f"writer {number}", daemon=True)
        self.number = number
        self.attempted = 0
        self.confirmed: set[Entry] = set()
        self.confirmed_at: list[float] = []
        self._broker = broker
        self._over = over

    def run(self) -> None:
        fabric = RabbitFabric(self._broker, PATIENCE_S)
        while not self._over.is_set():
            numbers = range(self.attempted, self.attempted + BATCH)
            self.attempted = numbers.stop
            try:
                fabric.append(JOB, LOG, [_made(self.number, number) for number in numbers])
            except FabricLost:
                continue
            self.confirmed.update((self.number, number) for number in numbers)
            self.confirmed_at.append(time.monotonic())
        fabric.close()


class _Reader(threading.Thread):
    def __init__(self, broker: Broker, number: int, over: threading.Event) -> None:
        super().__init__(name=f"reader {number}", daemon=True)
        self.found: list[Entry] = []
        self._broker = broker
        self._over = over

    def run(self) -> None:
        fabric = RabbitFabric(self._broker, PATIENCE_S)
        position: Position = START
        while not self._over.is_set():
            try:
                batch = fabric.read(JOB, LOG, position, READ_BYTES)
            except FabricLost:
                continue
            self.found += map(_entry, batch.records)
            position = batch.position
            if not batch.records:
                time.sleep(_LOOK_S)
        fabric.close()


Injection = Callable[[Nodes, str], None]
"""A fault of a node, and its repair."""


@dataclass(frozen=True)
class Fault:
    name: str
    inject: Injection


def _kill(nodes: Nodes, name: str) -> None:
    nodes.kill(name)
    nodes.start_again(name)


def _pause(nodes: Nodes, name: str) -> None:
    """With Mnesia the node may stay partitioned: then it is restarted before another one is paused, as operators have
    to."""
    nodes.pause(name)
    time.sleep(PAUSE_S)
    nodes.resume(name)
    nodes.wait_ready(name)
    restart_partitioned(nodes)


def _restart(nodes: Nodes, name: str) -> None:
    nodes.stop_one(name)
    nodes.start_again(name)


def _kill_all(nodes: Nodes, name: str) -> None:
    for each in nodes.names:
        nodes.kill(each)
    nodes.start()


def _nothing(nodes: Nodes, name: str) -> None:
    time.sleep(CALM_S)


FAULTS = {
    each.name: each
    for each in (
        Fault("none", _nothing),
        Fault("kill", _kill),
        Fault("pause", _pause),
        Fault("restart", _restart),
        Fault("kill-all", _kill_all),
    )
}
ISOLATE, PARTITION = "isolate", "partition"
NETWORK_FAULTS = (ISOLATE, PARTITION)


def network_faults(network: Network) -> dict[str, Fault]:
    """Faults of nodes on hosts of their own: a node that nobody reaches, and one that clients reach but no other node
    does."""

    def isolate(nodes: Nodes, name: str) -> None:
        _cut(nodes, name, network.hosts[name].cut_off, network.hosts[name].join)

    def partition(nodes: Nodes, name: str) -> None:
        own, others = network.hosts[name], [network.hosts[each] for each in nodes.names if each != name]
        _cut(nodes, name, lambda: own.separate(others), lambda: own.unite(others))

    return {ISOLATE: Fault(ISOLATE, isolate), PARTITION: Fault(PARTITION, partition)}


def _cut(nodes: Nodes, name: str, cut: Callable[[], None], heal: Callable[[], None]) -> None:
    """Raises if the other nodes have not noticed it, or if the node does not rejoin them."""
    cut()
    try:
        time.sleep(PAUSE_S)
        if _sees(nodes, name):
            raise BrokerFailed(f"the other nodes still see {name}, {PAUSE_S:g} s after it was cut off")
    finally:
        heal()
    nodes.wait_ready(name)
    deadline = time.monotonic() + PATIENCE_S
    while not _sees(nodes, name):
        if time.monotonic() > deadline:
            raise BrokerFailed(f"{name} has not rejoined the other nodes within {PATIENCE_S:g} s")
        time.sleep(CALM_S)


def _sees(nodes: Nodes, name: str) -> bool:
    """Whether another node is connected with this one."""
    asked = next(each for each in nodes.names if each != name)
    return nodes.ctl(asked, "eval", f"lists:member('{nodes.node(name).full_name}', nodes()).").strip() == "true"


def trial(nodes: Nodes, fault: Fault, seconds: float, writers: int, readers: int, seed: int) -> Outcome:
    """Injects a fault into one node after another for this long, and at least once into each, so that the
    leader of the stream is among them."""
    broker = replace(parse(nodes.address), namespace=f"check-{secrets.token_hex(6)}")
    fabric = RabbitFabric(broker, PATIENCE_S)
    fabric.create_job(JOB, b"")
    fabric.append(JOB, LOG, [])
    over = threading.Event()
    writing = [_Writer(broker, number, over) for number in range(writers)]
    reading = [_Reader(broker, number, over) for number in range(readers)]
    began = time.monotonic()
    for each in (*writing, *reading):
        each.start()
    try:
        times = _inject(nodes, fault.inject, began + seconds, random.Random(seed), writing)
    finally:
        over.set()
        nodes.start()
        for each in (*writing, *reading):
            each.join()
    history = History(
        {each.number: each.attempted for each in writing},
        frozenset().union(*(each.confirmed for each in writing)),
        _read_all(fabric),
        [each.found for each in reading],
    )
    stalled_s = _longest_gap(began, [at for each in writing for at in each.confirmed_at])
    fabric.remove_all()
    fabric.close()
    return Outcome(fault.name, times, stalled_s, check(history))


def _inject(nodes: Nodes, fault: Injection, until: float, chosen: random.Random, writing: list[_Writer]) -> int:
    order = chosen.sample(nodes.names, len(nodes.names))
    times = 0
    while times < len(order) or time.monotonic() < until:
        _await_progress(writing)
        fault(nodes, order[times % len(order)])
        times += 1
    _await_progress(writing)
    return times


def _await_progress(writing: list[_Writer]) -> None:
    """Waits until each writer has had a further append confirmed, so that faults hit a cluster at work."""
    before = [len(each.confirmed_at) for each in writing]
    deadline = time.monotonic() + PATIENCE_S
    while any(len(each.confirmed_at) <= count for each, count in zip(writing, before, strict=True)):
        if time.monotonic() > deadline:
            raise FabricLost(f"no append was confirmed for {PATIENCE_S:g} s after a fault")
        time.sleep(_LOOK_S)
    time.sleep(CALM_S)


def _read_all(fabric: RabbitFabric) -> list[Entry]:
    fabric.read_barrier(JOB, LOG)
    found: list[Entry] = []
    position: Position = START
    while (batch := fabric.read(JOB, LOG, position, READ_BYTES)).records:
        found += map(_entry, batch.records)
        position = batch.position
    return found


def _longest_gap(began: float, times: list[float]) -> float:
    ordered = [began, *sorted(times)]
    return max((later - earlier for earlier, later in pairwise(ordered)), default=0.0)


def _made(writer: int, number: int) -> Record:
    return record(Kind.DATA, writer, number, _BODY.pack(writer, number) * 8)


def _entry(found: Record) -> Entry:
    known = _made(found.producer, found.seq)
    return (found.producer, found.seq) if found == known else _WRONG
