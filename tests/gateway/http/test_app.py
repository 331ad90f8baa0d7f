"""The readiness check of a gateway, and the headers of all its requests and responses."""

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


@pytest.mark.parametrize("path", ["/healthz", "/openapi.json", "/v1/jobs", "/v1/jobs/none", "/nowhere"])
def test_a_response_is_neither_cached_nor_sniffed(tmp_path: Path, path: str) -> None:
    client = Client()
    asyncio.run(ask(GatewaySettings(tmp_path, tmp_path / "tokens.json"), client, scope_of(path, "")))
    assert client.status in (200, 401, 404)
    guards = (client.headers.get("cache-control"), client.headers.get("x-content-type-options"))
    assert guards == ("no-store", "nosniff")


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data"])
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/v1/jobs/j/tables/t/complete"), ("PUT", "/v1/jobs/j"), ("PUT", "/v1/cluster/workers"),
     ("POST", "/v1/sql")],
)  # fmt: skip
def test_a_form_of_a_page_is_not_taken_for_json(tmp_path: Path, method: str, path: str, kind: str) -> None:
    """A page of another site can send these content types without asking."""
    settings = GatewaySettings(tmp_path, tmp_path / "tokens.json", needs_token=False)
    headers = [(b"host", b"localhost"), (b"content-type", kind.encode()), (b"content-length", b"0")]
    client = Client(body=b"")
    asyncio.run(ask(settings, client, {**scope_of(path, ""), "method": method, "headers": headers}))
    assert (client.status, b"unsupported-format" in client.received) == (415, True)
