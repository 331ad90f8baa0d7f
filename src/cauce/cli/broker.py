"""`cauce broker`: private RabbitMQ nodes for trying the service and for tests, and a check of any broker."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cauce.cli.options import FabricOption
from cauce.errors import UsageError

if TYPE_CHECKING:
    from cauce.broker.status import Status

app = typer.Typer(
    help="Private RabbitMQ nodes on this machine, for trying and testing; a check of any broker.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

DirOption = Annotated[Path, typer.Option("--dir", help="folder that holds all that belongs to the nodes")]
JsonOption = Annotated[bool, typer.Option("--json", help="print JSON")]


@app.command("start")
def start(
    dir: DirOption,
    nodes: Annotated[
        int | None, typer.Option(help="1, or 3 for a cluster (default: as before, else 1)", show_default=False)
    ] = None,
    json: JsonOption = False,
) -> None:
    """Start the nodes that do not run, wait until they answer, and print their address."""
    from cauce.broker.installation import installed
    from cauce.broker.nodes import prepare

    if nodes not in (None, 1, 3):
        raise UsageError(f"--nodes cannot be {nodes}; it can be 1 or 3")
    found = prepare(dir, nodes)
    started = found.start()
    if json:
        _print_json({"address": found.address, "folder": str(found.place.folder), "started": started})
        return
    version = ".".join(map(str, installed().version))
    ran = [name for name in found.names if name not in started]
    done = filter(None, [_listed("started", started), _listed("ran already", ran)])
    _print(f"RabbitMQ {version}: {'; '.join(done)}")
    _print(found.address)
    _print(f"Stop with: cauce broker stop --dir {shlex.quote(str(found.place.folder))}")


@app.command("stop")
def stop(dir: DirOption) -> None:
    """Stop the nodes and their name server. The data stays; remove the folder to be rid of it."""
    from cauce.broker.nodes import existing

    found = existing(dir)
    ran = found.stop() if found is not None else []
    _print(_listed("stopped", ran) or f"nothing ran in {dir}")


@app.command("status")
def status(dir: DirOption, json: JsonOption = False) -> None:
    """Show the nodes, and who is in the cluster. The exit code is 0 only if all answer and are in it."""
    from cauce.broker.nodes import existing
    from cauce.broker.status import status as status_of

    found = existing(dir)
    if found is None:
        raise UsageError(f"{dir} holds no nodes; make some with cauce broker start --dir {dir}")
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
    dir: Annotated[Path | None, typer.Option("--dir", help="folder of private nodes", show_default=False)] = None,
    node: Annotated[
        str,
        typer.Option(help="a node to ask with rabbitmqctl, on its machine", metavar="rabbit@HOST", show_default=False),
    ] = "",
    json: JsonOption = False,
) -> None:
    """Show every setting of a broker that we rely on, and what is wrong. The exit code is 0 only if nothing is."""
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
    _print(f"epmd\tport {seen.epmd_port}\t{'dead' if seen.epmd_pid is None else f'pid {seen.epmd_pid}'}")
    _print(f"in the cluster\t{'nobody could be asked' if seen.members is None else ', '.join(seen.members)}")
    _print(seen.address)


def _listed(what: str, names: list[str]) -> str:
    return f"{what} {', '.join(names)}" if names else ""


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")


def _print_json(value: object) -> None:
    import msgspec

    _print(msgspec.json.encode(value).decode())
