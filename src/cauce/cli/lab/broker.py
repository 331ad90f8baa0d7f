"""`cauce broker`: manages private RabbitMQ nodes for trials and tests, and checks the settings of any broker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cauce.cli.help import CommandLine
from cauce.cli.options import FabricOption, JsonOption
from cauce.errors import UsageError
from cauce.terminal.console import print_json, print_line
from cauce.terminal.invocation import command

if TYPE_CHECKING:
    from cauce.lab.broker.nodes import Nodes
    from cauce.lab.broker.status import Status

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
    version: Annotated[
        str | None,
        typer.Option(
            help="RabbitMQ version: 4.0, 4.3, or the installed one",
            metavar="X.Y",
            show_default="as before, else the best one here",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Start the nodes that are not running and print their address.

    A version that is not installed is built from a Debian release, once; this needs root and some minutes.
    """
    from cauce.lab.broker.nodes import prepare
    from cauce.lab.broker.releases import choose, choose_again

    if nodes not in (None, 1, 3):
        raise UsageError(f"invalid value {nodes} of --nodes; expected 1 or 3")
    choose(version)
    found = prepare(dir, nodes)
    started = found.start(version)
    running = ", ".join(dict.fromkeys(choose_again(found.place.version_of(node)).label for node in found.layout.nodes))
    if json:
        print_json(
            {"address": found.address, "folder": str(found.place.folder), "started": started, "version": running}
        )
        return
    ran = [name for name in found.names if name not in started]
    done = filter(None, [_listed("started", started), _listed("already running", ran)])
    print_line(f"RabbitMQ {running}: {'; '.join(done)}")
    print_line(found.address)
    print_line(f"Stop with: {command('broker', 'stop', '--dir', str(found.place.folder))}")


@app.command("stop")
def stop(dir: DirOption) -> None:
    """Stop the nodes and their name server.

    The data stays in the directory, for the next start.
    """
    from cauce.lab.broker.nodes import existing

    found = existing(dir)
    ran = found.stop() if found is not None else []
    print_line(_listed("stopped", ran) or f"no node was running in {dir}")


@app.command("status")
def status(dir: DirOption, json: JsonOption = False) -> None:
    """Show the nodes and the members of their cluster.

    The exit code is 0 only if all nodes answer and are members.
    """
    from cauce.lab.broker.status import status as status_of

    seen = status_of(nodes_in(dir))
    if json:
        print_json(seen)
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
    from cauce.cli.lab.broker_check import asked_of, lines_of

    checked = asked_of(fabric, dir, node).check()
    if json:
        print_json(checked)
    else:
        print_line("\n".join(lines_of(checked)))
    if checked.wrong:
        raise typer.Exit(1)


def nodes_in(folder: Path, *options: str) -> Nodes:
    """The nodes of a folder. Raises a UsageError with the command that starts some, if it has none."""
    from cauce.lab.broker.nodes import existing

    found = existing(folder)
    if found is None:
        start = command("broker", "start", "--dir", str(folder), *options)
        raise UsageError(f"no nodes in {folder}; start some with: {start}")
    return found


def _print_status(seen: Status) -> None:
    for node in seen.nodes:
        print_line(f"{node.name}\t{node.host}:{node.port}\tdistribution {node.distribution_port}\t{node.description}")
    print_line(f"epmd\tport {seen.epmd_port}\t{'not running' if seen.epmd_pid is None else f'pid {seen.epmd_pid}'}")
    print_line(f"members\t{'unknown: no node answers' if seen.members is None else ', '.join(seen.members)}")
    print_line(seen.address)


def _listed(what: str, names: list[str]) -> str:
    return f"{what} {', '.join(names)}" if names else ""
