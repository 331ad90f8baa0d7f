"""All files of a deployment, for each platform: the same plan and secrets give the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from cauce.lab.deploy import compose, helm, image, kubernetes
from cauce.lab.deploy.certificates import Certificates, issued
from cauce.lab.deploy.plan import Plan
from cauce.lab.deploy.secret import Secrets, fresh
from cauce.lab.deploy.writing import File, prepare, write

Platform = Literal["compose", "kubernetes", "helm"]
PLATFORMS: tuple[Platform, ...] = get_args(Platform)


@dataclass(frozen=True)
class _Maker:
    files: Callable[[Plan, Secrets, Certificates], list[File]]
    hosts: Callable[[Plan], list[str]]
    """Names of the RabbitMQ nodes, for their certificate."""
    known: Callable[[Path], Secrets | None]
    known_certificates: Callable[[Path], Certificates | None]
    check: Callable[[Plan], None] = lambda plan: None
    """Raises if the platform does not support the plan; called before anything is written."""
    once: Callable[[Path], list[File]] = lambda folder: []
    """Files that are written only if they do not exist."""


_MAKERS: dict[Platform, _Maker] = {
    "compose": _Maker(compose.files, compose.hosts, compose.known, compose.known_certificates),
    "kubernetes": _Maker(
        kubernetes.files,
        kubernetes.hosts,
        kubernetes.known,
        kubernetes.known_certificates,
        kubernetes.check,
        kubernetes.first_tokens,
    ),
    "helm": _Maker(
        helm.files,
        kubernetes.hosts,
        kubernetes.known,
        kubernetes.known_certificates,
        kubernetes.check,
        kubernetes.first_tokens,
    ),
}


def deploy(platform: Platform, plan: Plan, folder: Path, package: Path, *, force: bool = False) -> None:
    """Writes all files into the folder. `package` is the folder of Cauce's sources."""
    maker = _MAKERS[platform]
    sources = image.sources(package)
    maker.check(plan)
    prepare(folder, force=force)
    certificates = issued(maker.hosts(plan), maker.known_certificates(folder))
    files = maker.files(plan, maker.known(folder) or fresh(), certificates)
    write(folder, [*files, *maker.once(folder), *image.files(), *sources])
