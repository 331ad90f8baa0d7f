"""The readiness check of a gateway."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from cauce.api.jobs import NoWorker
from cauce.gateway.settings import GatewaySettings
from cauce.gateway.worker_availability import Workforce
from tests.gateway.asking import Client, ask, scope_of


@pytest.mark.parametrize("fabric", ["", "files:{}/fabric"])
def test_a_gateway_without_free_space_for_its_jobs_is_not_ready(tmp_path: Path, fabric: str) -> None:
    settings = GatewaySettings(tmp_path, tmp_path / "tokens.json", free_bytes=1 << 62, fabric=fabric.format(tmp_path))
    client = Client()
    asyncio.run(ask(settings, client, scope_of("/readyz", "")))
    assert client.status == 503
    assert b"no-room" in client.received


def test_a_gateway_without_workers_is_ready_with_a_notice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def missing(workforce: Workforce, owner: str) -> NoWorker:
        return NoWorker("no worker is running")

    monkeypatch.setattr(Workforce, "missing", missing)
    client = Client()
    asyncio.run(ask(GatewaySettings(tmp_path, tmp_path / "tokens.json"), client, scope_of("/readyz", "")))
    assert (client.status, client.received) == (200, b'{"status":"ready","notice":"no worker is running"}')
