"""The readiness check of a gateway."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from cauce.gateway.settings import GatewaySettings
from tests.gateway.asking import Client, ask, scope_of


@pytest.mark.parametrize("fabric", ["", "files:{}/fabric"])
def test_a_gateway_without_free_space_for_its_jobs_is_not_ready(tmp_path: Path, fabric: str) -> None:
    settings = GatewaySettings(tmp_path, tmp_path / "tokens.json", free_bytes=1 << 62, fabric=fabric.format(tmp_path))
    client = Client()
    asyncio.run(ask(settings, client, scope_of("/readyz", "")))
    assert client.status == 503
    assert b"no-room" in client.received
