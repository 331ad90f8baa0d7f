"""`cauce deploy`: files with which Docker Compose or Kubernetes run the service and its RabbitMQ cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cauce.cli.help import CommandLine

if TYPE_CHECKING:
    from cauce.deploy.deployment import Platform

app = CommandLine("Write the files for a service in containers.")

WorkersOption = Annotated[int, typer.Option(help="worker processes, one thread each", min=1, max=1000, metavar="N")]
GatewaysOption = Annotated[int, typer.Option(help="gateway processes", min=1, max=64, metavar="N")]
DoctorsOption = Annotated[
    int, typer.Option(help="doctor processes; with three or more, any of them may fail", min=1, max=9, metavar="N")
]
OutOption = Annotated[
    Path | None, typer.Option(help="directory to write", metavar="DIR", show_default="compose or kubernetes")
]
ImageOption = Annotated[str, typer.Option(help="name of the Cauce image to build", metavar="NAME")]
BrokerOption = Annotated[str, typer.Option(help="image of RabbitMQ", metavar="NAME")]
NameOption = Annotated[
    str, typer.Option(help="name of the Compose project or the Kubernetes namespace", metavar="NAME")
]
StorageOption = Annotated[str, typer.Option(help="disk of each of the three RabbitMQ nodes", metavar="SIZE")]
MemoryOption = Annotated[str, typer.Option(help="memory of each worker", metavar="SIZE")]
BrokerMemoryOption = Annotated[str, typer.Option(help="memory of each RabbitMQ node", metavar="SIZE")]
PortOption = Annotated[
    int, typer.Option(help="port of the first gateway on this machine", min=1, max=65535, metavar="PORT")
]
ForceOption = Annotated[bool, typer.Option("--force", help="overwrite existing files; secrets are kept")]


@app.command("compose")
def compose(
    workers: WorkersOption = 8,
    gateways: GatewaysOption = 2,
    doctors: DoctorsOption = 3,
    out: OutOption = None,
    image: ImageOption = "cauce:latest",
    broker_image: BrokerOption = "rabbitmq:4.3",
    name: NameOption = "cauce",
    storage: StorageOption = "20Gi",
    memory: MemoryOption = "2Gi",
    broker_memory: BrokerMemoryOption = "2Gi",
    port: PortOption = 8080,
    force: ForceOption = False,
) -> None:
    """Write files for Docker Compose, on one machine."""
    sizes = {"storage": storage, "memory": memory, "broker_memory": broker_memory}
    _deploy("compose", out, force, workers, gateways, doctors, name, image, broker_image, port, sizes)


@app.command("kubernetes")
def kubernetes(
    workers: WorkersOption = 8,
    gateways: GatewaysOption = 2,
    doctors: DoctorsOption = 3,
    out: OutOption = None,
    image: ImageOption = "cauce:latest",
    broker_image: BrokerOption = "rabbitmq:4.3",
    name: NameOption = "cauce",
    storage: StorageOption = "20Gi",
    memory: MemoryOption = "2Gi",
    broker_memory: BrokerMemoryOption = "2Gi",
    force: ForceOption = False,
) -> None:
    """Write files for Kubernetes: a directory for kubectl apply --kustomize."""
    sizes = {"storage": storage, "memory": memory, "broker_memory": broker_memory}
    _deploy("kubernetes", out, force, workers, gateways, doctors, name, image, broker_image, 8080, sizes)


def _deploy(
    platform: Platform,
    out: Path | None,
    force: bool,
    workers: int,
    gateways: int,
    doctors: int,
    name: str,
    image: str,
    broker_image: str,
    port: int,
    sizes: dict[str, str],
) -> None:
    import cauce
    from cauce.deploy.deployment import deploy
    from cauce.deploy.plan import checked

    plan = checked(workers, gateways, doctors, name, image, broker_image, port, **sizes)
    folder = out or Path(platform)
    deploy(platform, plan, folder, Path(cauce.__file__).parent, force=force)
    sys.stdout.write(f"wrote {folder}; the commands to run are in {folder / 'README.md'}\n")
