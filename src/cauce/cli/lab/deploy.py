"""`cauce deploy`: writes the files with which Docker Compose, Kubernetes or Helm run a service and its RabbitMQ."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cauce.cli.help import CommandLine

if TYPE_CHECKING:
    from cauce.lab.deploy.deployment import Platform

app = CommandLine("Write the files for a service in containers.")


@dataclass(frozen=True, kw_only=True)
class DeployOptions:
    workers: Annotated[int, typer.Option(help="worker processes, one thread each", min=1, max=1000, metavar="N")] = 8
    gateways: Annotated[int, typer.Option(help="gateway processes", min=1, max=64, metavar="N")] = 2
    doctors: Annotated[
        int, typer.Option(help="doctor processes; with three or more, any of them may fail", min=1, max=9, metavar="N")
    ] = 3
    out: Annotated[
        Path | None, typer.Option(help="directory to write", metavar="DIR", show_default="compose, kubernetes or helm")
    ] = None
    image: Annotated[str, typer.Option(help="name of the Cauce image to build", metavar="NAME")] = "cauce:latest"
    broker_image: Annotated[str, typer.Option(help="image of RabbitMQ", metavar="NAME")] = "rabbitmq:4.3"
    name: Annotated[
        str, typer.Option(help="name of the Compose project or the Kubernetes namespace", metavar="NAME")
    ] = "cauce"
    storage: Annotated[str, typer.Option(help="disk of each of the three RabbitMQ nodes", metavar="SIZE")] = "20Gi"
    memory: Annotated[str, typer.Option(help="memory of each worker", metavar="SIZE")] = "2Gi"
    broker_memory: Annotated[str, typer.Option(help="memory of each RabbitMQ node", metavar="SIZE")] = "2Gi"
    force: Annotated[bool, typer.Option("--force", help="overwrite existing files; secrets are kept")] = False


@app.command("compose")
def compose(
    options: DeployOptions,
    port: Annotated[
        int, typer.Option(help="port of the first gateway on this machine", min=1, max=65535, metavar="PORT")
    ] = 8080,
) -> None:
    """Write files for Docker Compose, on one machine."""
    _deploy("compose", options, port)


@app.command("kubernetes")
def kubernetes(
    options: DeployOptions,
    operator: Annotated[
        bool, typer.Option("--operator", help="let the RabbitMQ Cluster Operator run RabbitMQ, as a RabbitmqCluster")
    ] = False,
) -> None:
    """Write files for Kubernetes: a directory for kubectl apply --kustomize."""
    _deploy("kubernetes", options, operator=operator)


@app.command("helm")
def helm(options: DeployOptions) -> None:
    """Write a Helm chart for Kubernetes, with its secrets beside it."""
    _deploy("helm", options)


def _deploy(platform: Platform, options: DeployOptions, port: int = 8080, *, operator: bool = False) -> None:
    import cauce
    from cauce.lab.deploy.deployment import deploy
    from cauce.lab.deploy.plan import Plan
    from cauce.lab.deploy.sizes import GI, MI, bytes_of

    plan = Plan(
        options.workers,
        options.gateways,
        options.doctors,
        options.name,
        options.image,
        options.broker_image,
        storage=bytes_of(options.storage, "--storage", 2 * GI),
        memory=bytes_of(options.memory, "--memory", 512 * MI),
        broker_memory=bytes_of(options.broker_memory, "--broker-memory", 512 * MI),
        port=port,
        operator=operator,
    )
    plan.check()
    folder = options.out or Path(platform)
    deploy(platform, plan, folder, Path(cauce.__file__).parent, force=options.force)
    sys.stdout.write(f"wrote {folder}; the commands to run are in {folder / 'README.md'}\n")
