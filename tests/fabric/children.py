"""Child processes that run functions on a fabric and can be killed."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar, cast

from cauce.errors import FabricFull
from cauce.fabric.contract import Fabric, Lease
from cauce.fabric.factory import open_fabric
from cauce.fabric.names import Log
from cauce.fabric.records import Kind, record

_SPAWN = multiprocessing.get_context("spawn")
_PATIENCE_S = 60.0

P = ParamSpec("P")
T = TypeVar("T")

held: list[Lease] = []
"""In a child: the leases it has acquired."""


def _serve(address: str, pipe: Connection) -> None:
    fabric = open_fabric(address)
    while (asked := pipe.recv()) is not None:
        function, args = asked
        pipe.send(function(fabric, *args))


class Child:
    """Runs functions of this module in the child; their first argument is the child's fabric."""

    def __init__(self, address: Path | str) -> None:
        self._pipe, far = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_serve, args=(str(address), far), daemon=True)
        self._process.start()
        far.close()

    def start(self, function: Callable[Concatenate[Fabric, P], object], *args: P.args, **_: P.kwargs) -> None:
        self._pipe.send((function, args))

    def answer(self) -> object:
        assert self._pipe.poll(_PATIENCE_S), "the child does not answer"
        return self._pipe.recv()

    def ask(self, function: Callable[Concatenate[Fabric, P], T], *args: P.args, **_: P.kwargs) -> T:
        self._pipe.send((function, args))
        return cast(T, self.answer())

    def kill(self) -> None:
        """Kills the child and waits for its exit."""
        self._process.kill()
        self._process.join()  # with a time limit, it would wait for forks of it as well
        assert self._process.exitcode == -signal.SIGKILL

    def stop(self) -> None:
        if self._process.is_alive():
            self._pipe.send(None)
            self._process.join(_PATIENCE_S)
        self._pipe.close()


def ready(fabric: Fabric) -> int:
    return os.getpid()


def take(fabric: Fabric, job: str, queue: str) -> str | None:
    lease = fabric.acquire(job, queue)
    if lease is None:
        return None
    held.append(lease)
    return lease.task


def take_with_retry(fabric: Fabric, job: str, queue: str) -> str:
    """Like `take`, but retries until a lease is available."""
    deadline = time.monotonic() + _PATIENCE_S
    while (taken := take(fabric, job, queue)) is None:
        assert time.monotonic() < deadline, "nothing to take"
        time.sleep(0.002)
    return taken


def lost(fabric: Fabric) -> list[bool]:
    return [lease.lost for lease in held]


def take_all(fabric: Fabric, job: str, queue: str) -> list[str]:
    while take(fabric, job, queue):
        pass
    return [lease.task for lease in held]


def finish_all(fabric: Fabric, job: str, queue: str) -> list[str]:
    finished = []
    while (lease := fabric.acquire(job, queue)) is not None:
        finished.append(lease.task)
        lease.complete()
    return finished


def append(fabric: Fabric, job: str, log: Log, producer: int, count: int) -> None:
    for seq in range(count):
        fabric.append(job, log, [record(Kind.DATA, producer, seq, bytes([seq % 256]) * (seq % 3000))])


def append_before_and_after_fork(fabric: Fabric, job: str, log: Log) -> None:
    append(fabric, job, log, 0, 1)
    pid = os.fork()
    append(fabric, job, log, 1 if pid == 0 else 2, 1)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def fork_one_that_stays(fabric: Fabric) -> int:
    """Forks a process that waits until it is killed; returns its pid."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writing, b"!")
        while True:
            signal.pause()
    os.read(reading, 1)
    return pid


def end_leases_in_a_fork(fabric: Fabric) -> None:
    pid = os.fork()
    if pid == 0:
        for lease in held:
            lease.complete()
            lease.release()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def fill_up(fabric: Fabric, job: str, log: Log, limit_bytes: int) -> tuple[int, str]:
    """Appends until the file size limit is reached, then raises the limit and appends one more record. Returns the
    number of confirmed records and the error message."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, before[1]))
    seq, message = 0, ""
    while not message:
        try:
            fabric.append(job, log, [record(Kind.DATA, 0, seq, bytes(1000))])
            seq += 1
        except FabricFull as problem:
            message = str(problem)
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    fabric.append(job, log, [record(Kind.DATA, 0, seq, bytes(1000))])
    return seq, message
