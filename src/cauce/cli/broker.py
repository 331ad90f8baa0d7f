"""`cauce broker`: private RabbitMQ nodes for trying the service and for tests, and a check of any broker."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cauce.cli.help import CommandLine
from cauce.cli.invocation import command
from cauce.cli.options import FabricOption, JsonOption
from cauce.errors import UsageError

if TYPE_CHECKING:
    from cauce.broker.status import Status

app = CommandLine("Start private RabbitMQ nodes on this machine; check any broker.")

DirOption = Annotated[
    Path, typer.Option("--dir", help="directory with everything that belongs to the nodes", metavar="DIR")
]


@app.command("start")
def start(
    dir: DirOption,
    nodes: Annotated[
        int | None, typer.Option(help="1, or 3 for a cluster", metavar="N", show_default="as before, else 1")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Start the nodes that are not running and print their address."""
    from cauce.broker.installation import installed
    from cauce.broker.nodes import prepare

    if nodes not in (None, 1, 3):
        raise UsageError(f"invalid value {nodes} of --nodes; expected 1 or 3")
    found = prepare(dir, nodes)
    started = found.start()
    if json:
        _print_json({"address": found.address, "folder": str(found.place.folder), "started": started})
        return
    version = ".".join(map(str, installed().version))
    ran = [name for name in found.names if name not in started]
    done = filter(None, [_listed("started", started), _listed("already running", ran)])
    _print(f"RabbitMQ {version}: {'; '.join(done)}")
    _print(found.address)
    _print(f"Stop with: {command('broker', 'stop', '--dir', str(found.place.folder))}")


@app.command("stop")
def stop(dir: DirOption) -> None:
    """Stop the nodes and their name server.

    The data stays in the directory, for the next start.
    """
    from cauce.broker.nodes import existing

    found = existing(dir)
    ran = found.stop() if found is not None else []
    _print(_listed("stopped", ran) or f"no node was running in {dir}")


@app.command("status")
def status(dir: DirOption, json: JsonOption = False) -> None:
    """Show the nodes and the members of their cluster.

    The exit code is 0 only if all nodes answer and are members.
    """
    from cauce.broker.nodes import existing
    from cauce.broker.status import status as status_of

    found = existing(dir)
    if found is None:
        raise UsageError(f"no nodes in {dir}; start some with: {command('broker', 'start', '--dir', str(dir))}")
    seen = status_of(found)
    if json:
        _print_json(seen)
    else:
        _print_status(seen)
    if not seen.whole:
        raise typer.Exit(1)


@app.command("check")
def check(
    fabric: FabricOption = "",
    dir: Annotated[
        Path | None, typer.Option("--dir", help="directory of private nodes", metavar="DIR", show_default=False)
    ] = None,
    node: Annotated[
        str, typer.Option(help="node to query with rabbitmqctl, on its machine", metavar="NODE", show_default=False)
    ] = "",
    json: JsonOption = False,
) -> None:
    """Check the settings of a broker that Cauce relies on.

    The exit code is 0 only if all of them are right.
    """
    from cauce.cli.broker_check import asked_of, lines_of

    checked = asked_of(fabric, dir, node).check()
    if json:
        _print_json(checked)
    else:
        _print("\n".join(lines_of(checked)))
    if checked.wrong:
        raise typer.Exit(1)


def _print_status(seen: Status) -> None:
    for node in seen.nodes:
        _print(f"{node.name}\t{node.host}:{node.port}\tdistribution {node.distribution_port}\t{node.said}")
    _print(f"epmd\tport {seen.epmd_port}\t{'not running' if seen.epmd_pid is None else f'pid {seen.epmd_pid}'}")
    _print(f"members\t{'unknown: no node answers' if seen.members is None else ', '.join(seen.members)}")
    _print(seen.address)


def _listed(what: str, names: list[str]) -> str:
    return f"{what} {', '.join(names)}" if names else ""


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")


def _print_json(value: object) -> None:
    import msgspec

    _print(msgspec.json.encode(value).decode())
