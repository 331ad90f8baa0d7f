"""Processes that use a files fabric: they create jobs, append records, enqueue and complete tasks. Each prints a line
when the fabric has confirmed a step. They end only when they are killed."""

from __future__ import annotations

import os
import random
import struct
import sys
from pathlib import Path

import msgspec

from cauce.fabric.contract import Durability
from cauce.fabric.files.fabric import FilesFabric
from cauce.fabric.names import Log
from cauce.fabric.records import Kind, Record, record

QUEUE = "queue"
LOGS = tuple(Log(f"log{number}") for number in range(3))
_JOBS = 4
_MOST_RECORDS = 4
_BODY = struct.Struct("<II")
_BODIES = (1, 20, 2000)
"""How often the body of a record repeats its identity: some records are larger than a block of the disk."""


class Confirmed(msgspec.Struct, frozen=True):
    """A step that the fabric confirmed: a job, and then records of a log, or a task."""

    job: str
    log: int = 0
    producer: int = 0
    records: tuple[int, ...] = ()
    task: str = ""
    completed: bool = False


class WriterSettings(msgspec.Struct, frozen=True):
    folder: str
    durability: Durability
    processes: int
    generation: int
    """Numbers the starts of the machine: producers and tasks of each are its own."""
    seed: int


def made(producer: int, seq: int) -> Record:
    return record(Kind.DATA, producer, seq, _BODY.pack(producer, seq) * _BODIES[seq % len(_BODIES)])


class RecordWriter:
    def __init__(self, settings: WriterSettings, index: int) -> None:
        self._fabric = FilesFabric(Path(settings.folder), durability=settings.durability)
        self._generation = settings.generation
        self._producer = settings.generation * settings.processes + index
        self._rng = random.Random(f"{settings.seed} {self._producer}")
        self._next = 0

    def work(self) -> None:
        while True:
            # Processes share jobs, logs and tasks, so that one finds names that another has just created.
            job = f"job{self._rng.randrange(_JOBS)}"
            self._fabric.create_job(job, b"{}")
            _print(Confirmed(job))
            self._append(job)
            self._use_tasks(job)

    def _append(self, job: str) -> None:
        log = self._rng.randrange(len(LOGS))
        numbers = tuple(range(self._next, self._next + self._rng.randint(1, _MOST_RECORDS)))
        self._next = numbers[-1] + 1
        self._fabric.append(job, LOGS[log], [made(self._producer, seq) for seq in numbers])
        _print(Confirmed(job, log, self._producer, numbers))

    def _use_tasks(self, job: str) -> None:
        # Other processes enqueue the same one at about the same time.
        task = f"task-{self._generation}-{self._next // 8}"
        self._fabric.enqueue(job, QUEUE, [task])
        _print(Confirmed(job, task=task))
        lease = self._fabric.acquire(job, QUEUE)
        if lease is not None:
            lease.complete()
            _print(Confirmed(job, task=lease.task, completed=True))


def _print(confirmed: Confirmed) -> None:
    os.write(1, msgspec.json.encode(confirmed) + b"\n")


def main(settings: WriterSettings) -> None:
    index = next((each for each in range(1, settings.processes) if os.fork() == 0), 0)
    RecordWriter(settings, index).work()


if __name__ == "__main__":
    main(msgspec.json.decode(sys.argv[1], type=WriterSettings))
