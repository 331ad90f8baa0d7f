"""Reads arguments as `cauce` does, without running anything."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import typer

from cauce.cli.main import app


@dataclass(frozen=True)
class Asked:
    """The arguments of a parsed command, and the variables that it reads."""

    given: dict[str, Any]
    variables: set[str | None]


def parse(arguments: list[str]) -> Asked:
    """Ends with `SystemExit(2)` for arguments that are refused."""
    asked: list[Asked] = []

    def record(command: Any) -> None:
        for inner in getattr(command, "commands", {}).values():
            record(inner)
        if not hasattr(command, "commands"):
            variables = {parameter.envvar for parameter in command.params}
            command.callback = lambda **given: asked.append(Asked(given, variables))

    command = typer.main.get_command(app)
    record(command)
    try:
        command.main(arguments, prog_name="cauce")
    except SystemExit as ended:
        if ended.code:
            raise
    return asked[0] if asked else Asked({}, set())


def commands(name: str = "", command: Any = None) -> dict[str, Any]:
    """Every command by its words, groups too: the empty name, `run`, `chaos`, `chaos run` …"""
    command = command or typer.main.get_command(app)
    found = {name: command}
    for part, inner in getattr(command, "commands", {}).items():
        found |= commands(f"{name} {part}".strip(), inner)
    return found


@cache
def options() -> dict[str, set[str]]:
    """Every command, as in `broker start`, with its options."""
    return dict(_options("", typer.main.get_command(app)))


def _options(name: str, command: Any) -> Any:
    inner = getattr(command, "commands", None)
    yield name, {text for each in command.params for text in (*each.opts, *each.secondary_opts)} | {"-h", "--help"}
    for part, each in (inner or {}).items():
        yield from _options(f"{name} {part}".strip(), each)
