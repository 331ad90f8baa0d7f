"""The cluster's events over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request

from cauce.api.names import LOCAL
from cauce.doctor.supervision.events import DAY_S, Event, EventLog
from cauce.fabric.memory import MemoryFabric, Store
from cauce.gateway.dashboard.cluster_routes import ClusterRoutes
from tests.gateway.asking import scope_of
from tests.gateway.lagging import SlowFabric

PATH = "/v1/cluster/events"


class OneThread:
    """The thread pool of a gateway whose fabric lags behind others."""

    def __init__(self, store: Store) -> None:
        self._service = SimpleNamespace(events=EventLog(SlowFabric(store)))

    async def run(self, work: Callable[[Any], Any], name: str) -> Any:
        return work(self._service)


@pytest.fixture
def store() -> Store:
    return Store()


def shown(store: Store, folder: Path) -> list[str]:
    """The names of the processes in the events that a gateway shows which has read nothing yet."""
    operations = ClusterRoutes(folder, OneThread(store), SimpleNamespace()).operations()  # type: ignore[arg-type]
    handler = next(each.handler for each in operations if each.path == PATH)
    reply = asyncio.run(handler(Request(scope_of(PATH, "")), LOCAL))
    return [event["name"] for event in json.loads(bytes(reply.body))["events"]]


def test_every_gateway_shows_an_event_that_was_confirmed(store: Store, tmp_path: Path) -> None:
    log = EventLog(MemoryFabric(store))
    for number in (1, 2):
        log.append(Event(10 * DAY_S, "started", f"worker-{number}", count=number))
        wanted = [f"worker-{each}" for each in range(1, number + 1)]
        assert shown(store, tmp_path) == wanted
        assert shown(store, tmp_path) == wanted
