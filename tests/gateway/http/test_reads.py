"""GET requests write nothing to the fabric, whatever a job waits for. The background task does that."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from cauce.fabric.contract import Fabric
from cauce.fabric.files.fabric import FilesFabric
from cauce.fabric.records import record
from cauce.gateway import service
from cauce.gateway.http.app import Gateway
from cauce.gateway.settings import GatewaySettings
from cauce.job.log_reader import LogReader
from cauce.job.outcome import Outcome
from cauce.job.topology import JOB_LOG
from cauce.process.telemetry.logs import start_logs
from tests.gateway.asking import Client, scope_of
from tests.gateway.serving import JOB, OWNER, Sent, World, files_world, send

READS = {"read", "jobs", "service_logs", "manifest", "read_barrier", "close"}
"""Methods of a fabric that change nothing. Every other method counts as a write."""
FOREVER_S = 60.0


class Recording:
    """A fabric that records the names of the writing methods that are called."""

    def __init__(self, fabric: Fabric, writes: list[str]) -> None:
        self._fabric = fabric
        self._writes = writes

    def __getattr__(self, name: str) -> object:
        found = getattr(self._fabric, name)
        if name in READS or not callable(found):
            return found

        def recorded(*given: object, **named: object) -> object:
            self._writes.append(name)
            return found(*given, **named)

        return recorded


def complete_without_recorded_end(world: World, sent: Sent) -> None:
    send(world.gateway(), sent)
    worker = world.worker()
    while worker.step():
        pass


def failed_without_recorded_end(world: World, sent: Sent) -> None:
    send(world.gateway(), sent)
    world.fabric().append(f"{OWNER}.{JOB}", JOB_LOG, [Outcome("failed", "a cause", "job-failed").dump(3)])


def overdue_upload(world: World, sent: Sent) -> None:
    world.clock.now = 1_000_000.0
    jobs = world.gateway()
    jobs.create(OWNER, JOB, sent.request)
    jobs.uploads.put_part(OWNER, JOB, *sent.each()[0])


def overdue_results(world: World, sent: Sent) -> None:
    world.clock.now = 1_000_000.0
    complete_without_recorded_end(world, sent)
    world.gateway().record_end(f"{OWNER}.{JOB}")


def conflicting_answers(world: World, sent: Sent) -> None:
    """Two contents of one record, which fails the job."""
    complete_without_recorded_end(world, sent)
    fabric, name = world.fabric(), f"{OWNER}.{JOB}"
    manifest = world.gateway()._views.open(OWNER, JOB).manifest
    log = manifest.outline.answers["q1"].log
    first = next(LogReader(log).records(fabric, name))
    fabric.append(name, log, [record(first.kind, first.producer, first.seq, b"other")])


SITUATIONS = [
    complete_without_recorded_end,
    failed_without_recorded_end,
    overdue_upload,
    overdue_results,
    conflicting_answers,
]


async def get(gateway: Gateway, path: str) -> int:
    """The status of the response. Event streams do not end: their first event is enough."""
    some = asyncio.Event()
    client = Client(some.set)
    scope = {**scope_of(path, ""), "headers": [(b"host", b"localhost")]}
    response = asyncio.create_task(gateway.app()(scope, client.receive, client.send))
    first = asyncio.create_task(some.wait())
    await asyncio.wait((response, first), return_when=asyncio.FIRST_COMPLETED, timeout=FOREVER_S)
    for task in (response, first):
        task.cancel()
    await asyncio.gather(response, first, return_exceptions=True)
    return client.status


async def get_all(settings: GatewaySettings) -> dict[str, int]:
    gateway = Gateway(settings, start_logs("test"))
    gateway._pool.start()
    try:
        paths = [path for path, methods in gateway.routes.table().items() if "GET" in methods]
        named = {
            path: path.format(
                job=JOB, table="books", query="q1", dataset="x", version="x", file="x", process="x", stage=0, seq=0
            )
            for path in paths
        }
        return {path: await get(gateway, asked) for path, asked in named.items()}
    finally:
        gateway._pool.stop(5)


@pytest.mark.parametrize("prepare", SITUATIONS, ids=lambda each: each.__name__)
def test_no_get_request_writes(
    tmp_path: Path, sent: Sent, monkeypatch: pytest.MonkeyPatch, prepare: Callable[[World, Sent], None]
) -> None:
    world = files_world(tmp_path)
    prepare(world, sent)
    writes: list[str] = []
    monkeypatch.setattr(service, "open_fabric", lambda *_: Recording(FilesFabric(tmp_path), writes))
    settings = GatewaySettings(tmp_path, tmp_path / "tokens.json", needs_token=False)
    found = asyncio.run(get_all(settings))
    assert found["/v1/jobs/{job}"] == 200
    assert found["/v1/jobs"] == 200
    assert 500 not in found.values()
    assert writes == []
    world.close()


async def run_until(gateway: Gateway, reached: Callable[[], bool]) -> None:
    """Runs only the background tasks of a gateway: no request is made."""
    gateway._pool.start()
    background = asyncio.create_task(gateway._background.run())
    try:
        async with asyncio.timeout(FOREVER_S):
            while not reached():
                await asyncio.sleep(0.01)
    finally:
        background.cancel()
        await asyncio.gather(background, return_exceptions=True)
        gateway._pool.stop(5)


def in_background(folder: Path, reached: Callable[[], bool]) -> None:
    settings = GatewaySettings(folder, folder / "tokens.json", needs_token=False)
    asyncio.run(run_until(Gateway(settings, start_logs("test")), reached))


def test_the_end_of_a_job_is_recorded_without_a_request(tmp_path: Path, sent: Sent) -> None:
    world = files_world(tmp_path)
    complete_without_recorded_end(world, sent)
    reader = world.gateway()
    assert reader.status(OWNER, JOB).state == "running"
    in_background(tmp_path, lambda: reader.status(OWNER, JOB).state == "done")
    world.close()


def test_an_overdue_upload_expires_without_a_request(tmp_path: Path, sent: Sent) -> None:
    world = files_world(tmp_path)
    jobs = world.gateway(receiving_seconds=1.0)
    jobs.create(OWNER, JOB, sent.request)
    settings = GatewaySettings(tmp_path, tmp_path / "tokens.json", needs_token=False, limits=jobs._limits)
    reader = world.gateway()
    gateway = Gateway(settings, start_logs("test"))
    asyncio.run(run_until(gateway, lambda: f"{OWNER}.{JOB}" not in reader._fabric.jobs()))
    assert world.left() == []
    world.close()
