"""Calls the tools of `cauce mcp` with the client of the `mcp` package, over its real transports."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp import Client, StdioServerParameters

ROOT = Path(__file__).parents[2]


class Caller:
    """Calls tools of one server."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def result(self, tool: str, **given: Any) -> Any:
        """The structured result of a tool."""
        found = await self.client.call_tool(tool, given)
        assert not found.is_error, found.content
        return found.structured_content

    async def failure(self, tool: str, **given: Any) -> str:
        """The message of a tool that fails."""
        found = await self.client.call_tool(tool, given)
        assert found.is_error, found.structured_content
        return str(found.content[0].text)


def over_stdio(arguments: list[str], talk: Callable[[Caller], Awaitable[Any]]) -> Any:
    """Starts a server as a child process and talks to it."""

    async def run() -> Any:
        variables = {"PYTHONPATH": str(ROOT / "src"), "PATH": os.environ["PATH"]}
        command = ["-P", "-m", "cauce", "mcp", *arguments]
        async with Client(StdioServerParameters(command=sys.executable, args=command, env=variables)) as client:
            return await talk(Caller(client))

    return asyncio.run(run())
