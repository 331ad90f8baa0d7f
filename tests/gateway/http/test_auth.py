"""Requests without a token, and responses in progress when their token is removed."""

from __future__ import annotations

import asyncio
import http.client
import socket
from contextlib import closing
from pathlib import Path

import pytest
import uvicorn
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from cauce.fabric.files.fabric import FilesFabric
from cauce.gateway.asgi.problems import HttpError
from cauce.gateway.asgi.protocol import Receiver
from cauce.gateway.http.app import Gateway
from cauce.gateway.http.auth import Access
from cauce.gateway.jobs.job_service import Jobs
from cauce.gateway.settings import GatewaySettings
from cauce.gateway.tokens import Tokens, create_token, remove_token
from cauce.process.telemetry.logs import start_logs
from cauce.worker.loop import Worker
from tests.gateway.asking import Client, ask, scope_of
from tests.gateway.serving import JOB, Sent, run_to_end, send

NAME = "ana"
STREAM_ENDS_S = 10.0
"""More than the interval at which a token is checked."""


@pytest.fixture
def token(tmp_path: Path, sent: Sent) -> str:
    """The token of an owner with a completed job."""
    made = create_token(tmp_path / "tokens.json", NAME)
    owner = Tokens(tmp_path / "tokens.json").owner(made)
    assert owner is not None
    with closing(FilesFabric(tmp_path)) as fabric:
        jobs = Jobs(fabric, GatewaySettings(tmp_path, tmp_path).limits)
        send(jobs, sent, owner=owner)
        assert run_to_end(jobs, Worker(fabric), owner=owner).state == "done"
    return made


def settings_of(folder: Path) -> GatewaySettings:
    return GatewaySettings(folder, folder / "tokens.json")


def revoke(folder: Path) -> None:
    remove_token(folder / "tokens.json", NAME)


DOWNLOADS = [(f"/v1/jobs/{JOB}/results/q4", f"format={form}") for form in ("csv", "json", "parquet", "arrow")]
DOWNLOADS.append((f"/v1/jobs/{JOB}/rejects", "format=csv"))


@pytest.mark.parametrize(("path", "query"), DOWNLOADS)
def test_a_download_is_aborted_when_its_token_is_removed(tmp_path: Path, token: str, path: str, query: str) -> None:
    client = Client(lambda: revoke(tmp_path))
    with pytest.raises(HttpError):
        asyncio.run(ask(settings_of(tmp_path), client, scope_of(path, token, query)))
    assert client.status == 200
    assert not client.complete


def fetch(port: int, target: str, token: str) -> bytes:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("GET", target, headers={"Authorization": f"Bearer {token}"})
        response = connection.getresponse()
        assert response.status == 200
        return response.read()


@pytest.mark.parametrize("revoked", [True, False])
def test_a_client_detects_an_aborted_download(tmp_path: Path, token: str, revoked: bool) -> None:
    gateway = Gateway(settings_of(tmp_path), start_logs("test"))
    inner = gateway.app()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        async def watched(message: Message) -> None:
            await send(message)
            if revoked and message["type"] == "http.response.body" and message.get("more_body"):
                revoke(tmp_path)

        await inner(scope, receive, watched)

    async def main() -> bytes:
        server = uvicorn.Server(uvicorn.Config(app, http=Receiver, lifespan="on", log_config=None))
        with socket.create_server(("127.0.0.1", 0)) as bound:
            serving = asyncio.create_task(server.serve([bound]))
            path, query = DOWNLOADS[0]
            try:
                return await asyncio.to_thread(fetch, bound.getsockname()[1], f"{path}?{query}", token)
            finally:
                server.should_exit = True
                await serving

    if revoked:
        with pytest.raises(http.client.IncompleteRead):
            asyncio.run(main())
    else:
        assert asyncio.run(main()).endswith(b"\n")


def test_a_download_with_a_valid_token_is_complete(tmp_path: Path, token: str) -> None:
    client = Client(lambda: None)
    asyncio.run(ask(settings_of(tmp_path), client, scope_of(DOWNLOADS[0][0], token, DOWNLOADS[0][1])))
    assert client.complete


def test_an_event_stream_ends_when_its_token_is_removed(tmp_path: Path, token: str) -> None:
    client = Client(lambda: revoke(tmp_path))
    asking = ask(settings_of(tmp_path), client, scope_of("/v1/events", token))
    asyncio.run(asyncio.wait_for(asking, STREAM_ENDS_S))
    assert client.complete


@pytest.mark.parametrize(
    "header",
    ["true-client-ip", "cf-connecting-ip", "fastly-client-ip", "fly-client-ip", "x-amzn-trace-id", "x-azure-clientip",
     "x-cluster-client-ip", "x-envoy-external-address", "x-original-for"],
)  # fmt: skip
def test_a_request_with_a_header_of_any_proxy_needs_a_token(tmp_path: Path, header: str) -> None:
    access = Access(Tokens(tmp_path / "tokens.json"), needs_token=False)
    headers = [(b"host", b"localhost"), (header.encode(), b"10.0.0.1")]
    with pytest.raises(HttpError, match=header):
        access.admit(Request({"type": "http", "method": "GET", "headers": headers}))


def test_the_error_for_a_proxied_request_names_the_token_settings(tmp_path: Path) -> None:
    access = Access(Tokens(tmp_path / "tokens.json"), needs_token=False)
    scope = {**scope_of("/v1/jobs", ""), "headers": [(b"host", b"localhost"), (b"via", b"1.1 proxy")]}
    with pytest.raises(HttpError, match="CAUCE_TOKEN or CAUCE_TOKEN_FILE") as problem:
        access.admit(Request(scope))
    assert "--token" not in str(problem.value)


def admitted(tmp_path: Path, method: str, headers: dict[str, str]) -> str:
    access = Access(Tokens(tmp_path / "tokens.json"), needs_token=False)
    encoded = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    return access.admit(Request({"type": "http", "method": method, "headers": encoded})).owner


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
     {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost"}],
)  # fmt: skip
def test_a_request_of_another_sites_page_is_refused(tmp_path: Path, headers: dict[str, str]) -> None:
    for method in ("PUT", "POST", "DELETE"):
        with pytest.raises(HttpError) as problem:
            admitted(tmp_path, method, {"Host": "localhost", **headers})
        assert (problem.value.status, problem.value.code) == (403, "cross-site")
    assert admitted(tmp_path, "PUT", {"Host": "localhost", "Origin": "http://localhost"}) == "local"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8080"])
def test_a_request_without_a_token_must_name_a_loopback_host(tmp_path: Path, host: str) -> None:
    with pytest.raises(HttpError, match="must be addressed as localhost"):
        admitted(tmp_path, "GET", {"Host": host})
    assert admitted(tmp_path, "GET", {"Host": "127.0.0.1:8080"}) == "local"
