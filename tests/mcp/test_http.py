"""`cauce mcp --http`: streamable HTTP on loopback, with a token."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import urllib3

pytest.importorskip("mcp")

import httpx2
from mcp.client.streamable_http import streamable_http_client

from mcp import Client
from tests.cli.running import cauce

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 120
pytestmark = pytest.mark.slow


@contextmanager
def serving(data: Path, token: str) -> Iterator[str]:
    """A server on a free port. Yields its address. Checks that nothing is left of its temporary files."""
    temporary = data / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-P", "-m", "cauce", "mcp", "--data", str(data), "--http", "--port", "0"]
    variables = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "CAUCE_MCP_ACCESS_TOKEN": token,
        "TMPDIR": str(temporary),
    }
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=variables) as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        try:
            assert found is not None
            yield found[0]
        finally:
            process.terminate()
    assert list(temporary.iterdir()) == []


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "orders.csv").write_text("id\n1\n2\n")
    return tmp_path


def test_client_with_the_token_gets_an_answer_and_one_without_is_refused(data: Path) -> None:
    async def ask(url: str, token: str) -> Any:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=TIMEOUT_S) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            result = await client.call_tool("run_sql", {"sql": "SELECT sum(id) AS total FROM orders"})
            return result.structured_content

    with serving(data, "right") as url:
        assert asyncio.run(ask(url, "right"))["answers"][0]["rows"] == [[3]]
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            reply = urllib3.request("POST", url, json={}, headers=headers, retries=False)
            assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")
        # A page in a browser could reach the server under a name of its own (DNS rebinding).
        headers = {"Authorization": "Bearer right", "Host": "evil.example"}
        assert urllib3.request("POST", url, json={}, headers=headers, retries=False).status == 421


def test_other_addresses_than_loopback_are_refused(data: Path) -> None:
    outcome = cauce(data, "mcp", "--data", ".", "--http", "--host", "0.0.0.0", "--port", "0")
    assert outcome.code == 2
    assert "is not a loopback address" in outcome.err
