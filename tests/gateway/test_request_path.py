"""The modules of the gateway that take part in one upload of a part: few enough to follow."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from pathlib import Path
from types import FrameType
from urllib.parse import quote

from starlette.types import Message, Scope

import cauce.gateway
from cauce.gateway.http.app import Gateway
from cauce.gateway.model import PartBody
from cauce.gateway.settings import GatewaySettings
from cauce.process.telemetry.logs import start_logs
from tests.docs.pages import ROOT, text_of
from tests.gateway.asking import Client, scope_of
from tests.gateway.serving import JOB, OWNER, Sent, files_world

MOST_MODULES = 8
"""A new layer on this way needs a reason. Lower it when modules are merged."""


class Uploader(Client):
    """Sends a body and receives the response."""

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self._messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive(self) -> Message:
        if self._messages:
            return self._messages.pop()
        return await super().receive()


class ModuleProfile:
    """Records the modules of a package whose functions are called, in all threads that start after it."""

    def __init__(self, package: Path) -> None:
        self._package = str(package)
        self.found: set[str] = set()

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(self._package):
            self.found.add(str(Path(path).relative_to(self._package)))


def upload_of(table: str, seq: int, body: PartBody) -> tuple[Scope, Uploader]:
    columns = quote(json.dumps(body.columns)).encode()
    scope = scope_of(f"/v1/jobs/{JOB}/tables/{table}/parts/{seq}", "")
    scope["method"] = "PUT"
    scope["headers"] = [(b"host", b"localhost"), (b"content-type", b"text/csv"), (b"cauce-columns", columns)]
    return scope, Uploader(body.data)


async def modules_of_second(gateway: Gateway, uploads: list[tuple[Scope, Uploader]]) -> set[str]:
    """The modules that the second upload runs through: the first one opens the fabric and the job."""
    profile = ModuleProfile(Path(cauce.gateway.__file__).parent)
    threading.setprofile(profile)
    gateway._pool.start()
    threading.setprofile(None)
    app = gateway.app()
    try:
        for scope, client in uploads:
            profile.found.clear()
            sys.setprofile(profile)
            await app(scope, client.receive, client.send)
            sys.setprofile(None)
        return set(profile.found)
    finally:
        sys.setprofile(None)
        gateway._pool.stop(5)


def test_an_upload_of_a_part_runs_through_few_modules(tmp_path: Path, sent: Sent) -> None:
    files_world(tmp_path).gateway().create(OWNER, JOB, sent.request)
    uploads = [upload_of(*each) for each in sent.each()[:2]]
    settings = GatewaySettings(tmp_path, tmp_path / "tokens.json", needs_token=False, threads=1)
    found = asyncio.run(modules_of_second(Gateway(settings, start_logs("test")), uploads))
    assert [client.status for _, client in uploads] == [201, 201]
    assert len(found) <= MOST_MODULES, "\n".join(sorted(found))
    walk = text_of(ROOT / "docs/architecture.md").split("With `submit`, the bytes travel.")[1]
    assert f"runs through {len(found)} modules of `gateway/`" in walk, sorted(found)
    assert [each for each in sorted(found) if f"| `gateway/{each}`, " not in walk] == []
