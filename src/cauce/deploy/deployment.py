"""All files of a deployment, for either platform: the same plan and secrets give the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from cauce.deploy import compose, image, kubernetes, readme
from cauce.deploy.files import File
from cauce.deploy.plan import Plan
from cauce.deploy.secret import Secrets, fresh
from cauce.deploy.writing import prepare, write

Platform = Literal["compose", "kubernetes"]
PLATFORMS: tuple[Platform, ...] = get_args(Platform)


@dataclass(frozen=True)
class _Maker:
    files: Callable[[Plan, Secrets], list[File]]
    known: Callable[[Path], Secrets | None]
    readme: Callable[[Plan], str]
    check: Callable[[Plan], None] = lambda plan: None
    """Whether the platform can do what is wanted; before anything is written."""
    once: Callable[[Path], list[File]] = lambda folder: []
    """What is written only where it is not there."""


_MAKERS: dict[Platform, _Maker] = {
    "compose": _Maker(compose.files, compose.known, readme.compose),
    "kubernetes": _Maker(
        kubernetes.files, kubernetes.known, readme.kubernetes, kubernetes.check, kubernetes.first_tokens
    ),
}


def deploy(platform: Platform, plan: Plan, folder: Path, package: Path, *, force: bool = False) -> None:
    """Writes everything into the folder. `package` is where our own sources are."""
    maker = _MAKERS[platform]
    sources = image.sources(package)
    maker.check(plan)
    prepare(folder, force=force)
    files = maker.files(plan, maker.known(folder) or fresh())
    write(folder, [*files, *maker.once(folder), File("README.md", maker.readme(plan)), *image.files(), *sources])
