"""The cluster over HTTP, as another tenant sees it: no route names a job of an owner to others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request

from cauce.api.cluster import ProcessBody
from cauce.api.names import LOCAL
from cauce.doctor.json_bodies import cluster_body
from cauce.doctor.model.status import ClusterStatus
from cauce.gateway.asgi.problems import HttpError
from cauce.gateway.dashboard import cluster_routes
from cauce.gateway.dashboard.cluster_live import ClusterLive
from cauce.gateway.dashboard.cluster_routes import ClusterRoutes
from tests.gateway.asking import scope_of
from tests.gateway.test_redaction import DEATH, WORKER

SECRETS = (b"maria", b"books-1", b"scan reviews")
STATUS = ClusterStatus(1, "doctor-1", "doctor-1", 1, True, True, "star", 1, 0, [WORKER])


class Pool:
    """The thread pool of a gateway that has recorded one event."""

    async def run(self, work: Callable[[Any], Any], name: str) -> Any:
        return work(SimpleNamespace(events=SimpleNamespace(read=lambda consistent=False: [DEATH])))


WORKFORCE = SimpleNamespace(missing_in=lambda owner, rows, doctor: None)


def route(path: str, folder: Path) -> Callable[[str], bytes]:
    routes = ClusterRoutes(folder, Pool(), WORKFORCE)  # type: ignore[arg-type]
    routes._ask = lambda: cluster_body(STATUS)  # type: ignore[method-assign]
    handler = next(each.handler for each in routes.operations() if (each.method, each.path) == ("GET", path))
    return lambda owner: bytes(asyncio.run(handler(Request(scope_of(path, "")), owner)).body)


def live(folder: Path) -> Callable[[str], bytes]:
    """The first chunk of the stream, with both kinds of event."""
    watching = SimpleNamespace(stopped=False, workforce=WORKFORCE)

    async def first(owner: str) -> bytes:
        stream = ClusterLive(folder, Pool(), watching)  # type: ignore[arg-type]
        stream._ask = lambda: cluster_body(STATUS)  # type: ignore[method-assign]
        return await anext(stream._stream(owner))

    return lambda owner: asyncio.run(first(owner))


@pytest.mark.parametrize("path", ["/v1/cluster", "/v1/cluster/events", "live"])
def test_the_work_of_another_owner_is_hidden_on_every_route(path: str, tmp_path: Path) -> None:
    read = live(tmp_path) if path == "live" else route(path, tmp_path)
    for secret in SECRETS:
        assert secret in read("maria")
        assert secret not in read("juan")
    assert b"worker-1" in read("juan")


def test_both_kinds_of_event_of_the_stream_are_hidden(tmp_path: Path) -> None:
    mine, others = live(tmp_path)("maria"), live(tmp_path)("juan")
    for name in (b"event: processes", b"event: events"):
        shown = mine.partition(name)[2].partition(b"\n\n")[0]
        hidden = others.partition(name)[2].partition(b"\n\n")[0]
        assert SECRETS[1] in shown
        assert SECRETS[1] not in hidden


class Local:
    """The directory of a service that runs here."""

    def find_cluster(self) -> object:
        return SimpleNamespace(doctors=("doctor-1",))


@pytest.mark.parametrize("owner", ["juan", LOCAL])
def test_a_tenant_cannot_stop_a_process(owner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(request: Request, kind: type[ProcessBody]) -> ProcessBody:
        return kind(running=False)

    stopped: list[str] = []
    monkeypatch.setattr(cluster_routes, "read_json", body)
    monkeypatch.setattr(cluster_routes, "hold_process", lambda home, name, *, running: stopped.append(name))
    routes = ClusterRoutes(tmp_path, Pool(), WORKFORCE)  # type: ignore[arg-type]
    routes._home = Local()  # type: ignore[assignment]
    handler = next(each.handler for each in routes.operations() if each.name == "setProcess")
    request = Request({**scope_of("/v1/cluster/processes/worker-1", ""), "path_params": {"process": "worker-1"}})
    if owner == LOCAL:
        assert asyncio.run(handler(request, owner)).status_code == 200
    else:
        with pytest.raises(HttpError, match="only workers and gateways"):
            asyncio.run(handler(request, owner))
    assert stopped == ["worker-1"] * (owner == LOCAL)
