"""The fabrics under test, each as a world of several processes that share what outlives them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Protocol

import pytest

from cauce.fabric.address import open_fabric
from cauce.fabric.contract import Fabric, Lease, Position
from cauce.fabric.files import FilesFabric
from cauce.fabric.memory import MemoryFabric, Store
from cauce.wire.records import Kind, Record, record
from tests.fabric.children import Child, take, take_surely
from tests.fabric.rabbit import in_own_namespace, remove_namespace


class World(Protocol):
    def process(self) -> Fabric:
        """One more process's view of the same fabric."""

    def die_holding(self, job: str, queue: str) -> tuple[str, int]:
        """A process takes a lease and is dead, without a last word, when this returns the task and the attempt."""

    def close(self) -> None: ...


class MemoryWorld:
    def __init__(self, root: Path) -> None:
        self._store = Store()

    def process(self) -> Fabric:
        return MemoryFabric(self._store)

    def die_holding(self, job: str, queue: str) -> tuple[str, int]:
        holder = MemoryFabric(self._store)
        lease = holder.take(job, queue)
        assert lease is not None
        assert self.process().take(job, queue) is None
        self._store.release(holder)
        return lease.task, lease.attempt

    def close(self) -> None:
        pass


class FilesWorld:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._fabrics: list[FilesFabric] = []

    def process(self) -> Fabric:
        self._fabrics.append(FilesFabric(self._root))
        return self._fabrics[-1]

    def die_holding(self, job: str, queue: str) -> tuple[str, int]:
        child = Child(self._root)
        taken = child.ask(take, job, queue)
        assert taken is not None
        assert self.process().take(job, queue) is None
        child.kill()
        return taken

    def close(self) -> None:
        for fabric in self._fabrics:
            fabric.close()


class RabbitWorld:
    """A namespace of its own on a broker that other tests use as well."""

    def __init__(self, broker: str) -> None:
        self._address = in_own_namespace(broker)
        self._fabrics: list[Fabric] = []

    def process(self) -> Fabric:
        self._fabrics.append(open_fabric(self._address))
        return self._fabrics[-1]

    def die_holding(self, job: str, queue: str) -> tuple[str, int]:
        child = Child(self._address)
        taken = child.ask(take_surely, job, queue)
        assert self.process().take(job, queue) is None
        child.kill()
        return taken

    def close(self) -> None:
        for fabric in self._fabrics:
            fabric.close()
        remove_namespace(self._address)


WORLDS = ("memory", "files", pytest.param("rabbitmq", marks=pytest.mark.slow))


def data(producer: int, *seqs: int, body: bytes = b"x") -> list[Record]:
    return [record(Kind.DATA, producer, seq, body) for seq in seqs]


_PATIENCE_S = 20.0


def took(fabric: Fabric, job: str = "j", queue: str = "q", patience_s: float = _PATIENCE_S) -> Lease:
    """What one has offered or given back, another gets at once, or as soon as it has heard of it."""
    deadline = time.monotonic() + patience_s
    while (lease := fabric.take(job, queue)) is None:
        assert time.monotonic() < deadline, "nothing to take"
        time.sleep(0.002)
    return lease


def jobs_seen_by(fabric: Fabric) -> list[str]:
    fabric.catch_up()
    return fabric.jobs()


def drain(
    fabric: Fabric, job: str, log: str, position: Position | None = None, limit_bytes: int = 1 << 20
) -> tuple[list[Record], Position]:
    """All there is from a position on, and the position behind it."""
    fabric.catch_up(job, log)
    return read_on(fabric, job, log, position or {}, limit_bytes)


def read_on(
    fabric: Fabric, job: str, log: str, at: Position, limit_bytes: int = 1 << 20
) -> tuple[list[Record], Position]:
    """The same, as far as it is seen already."""
    found: list[Record] = []
    while True:
        batch = fabric.read(job, log, at, limit_bytes)
        found += batch.records
        if batch.position == at:
            return found, at
        at = batch.position


def names(records: list[Record]) -> list[tuple[int, int]]:
    return sorted((each.producer, each.seq) for each in records)
