"""The fabrics under test: each world simulates several processes on one store."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Protocol

import pytest

from cauce.fabric.contract import START, Fabric, Lease, Position
from cauce.fabric.factory import open_fabric
from cauce.fabric.files.fabric import FilesFabric
from cauce.fabric.memory import MemoryFabric, Store
from cauce.fabric.names import Log
from cauce.fabric.records import Kind, Record, record
from tests.fabric.children import Child, take, take_with_retry
from tests.fabric.rabbit import in_own_namespace, remove_namespace


class World(Protocol):
    def process(self) -> Fabric:
        """Opens the fabric as one more process."""

    def child(self) -> Child | None:
        """A real child process with its own fabric; None if the store is in the memory of this process."""

    def crash_holding(self, job: str, queue: str) -> str:
        """A process acquires a lease and crashes; returns the task."""

    def close(self) -> None: ...


class MemoryWorld:
    def __init__(self, root: Path) -> None:
        self._store = Store()

    def process(self) -> Fabric:
        return MemoryFabric(self._store)

    def child(self) -> Child | None:
        return None

    def crash_holding(self, job: str, queue: str) -> str:
        holder = MemoryFabric(self._store)
        lease = holder.acquire(job, queue)
        assert lease is not None
        assert self.process().acquire(job, queue) is None
        self._store.release(holder)
        return lease.task

    def close(self) -> None:
        pass


class FilesWorld:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._fabrics: list[FilesFabric] = []

    def process(self) -> Fabric:
        self._fabrics.append(FilesFabric(self._root))
        return self._fabrics[-1]

    def child(self) -> Child:
        return Child(self._root)

    def crash_holding(self, job: str, queue: str) -> str:
        child = Child(self._root)
        taken = child.ask(take, job, queue)
        assert taken is not None
        assert self.process().acquire(job, queue) is None
        child.kill()
        return taken

    def close(self) -> None:
        for fabric in self._fabrics:
            fabric.close()


class RabbitWorld:
    """A private namespace on a shared broker."""

    def __init__(self, broker: str) -> None:
        self._address = in_own_namespace(broker)
        self._fabrics: list[Fabric] = []

    def process(self) -> Fabric:
        self._fabrics.append(open_fabric(self._address))
        return self._fabrics[-1]

    def child(self) -> Child:
        return Child(self._address)

    def crash_holding(self, job: str, queue: str) -> str:
        child = Child(self._address)
        taken = child.ask(take_with_retry, job, queue)
        assert self.process().acquire(job, queue) is None
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
    """Acquires a lease; retries until it is visible to this process."""
    deadline = time.monotonic() + patience_s
    while (lease := fabric.acquire(job, queue)) is None:
        assert time.monotonic() < deadline, "nothing to take"
        time.sleep(0.002)
    return lease


def jobs_seen_by(fabric: Fabric) -> list[str]:
    fabric.read_barrier()
    return fabric.jobs()


def drain(
    fabric: Fabric, job: str, log: Log, position: Position | None = None, limit_bytes: int = 1 << 20
) -> tuple[list[Record], Position]:
    """All records after a position, and the position after them, behind a read barrier."""
    fabric.read_barrier(job, log)
    return read_on(fabric, job, log, position or START, limit_bytes)


def read_on(
    fabric: Fabric, job: str, log: Log, at: Position, limit_bytes: int = 1 << 20
) -> tuple[list[Record], Position]:
    """Like `drain`, without the read barrier."""
    found: list[Record] = []
    while True:
        batch = fabric.read(job, log, at, limit_bytes)
        found += batch.records
        if batch.position == at:
            return found, at
        at = batch.position


def names(records: list[Record]) -> list[tuple[int, int]]:
    return sorted((each.producer, each.seq) for each in records)
