"""All files of a deployment, for either platform: the same plan and secrets give the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from cauce.lab.deploy import compose, image, kubernetes
from cauce.lab.deploy.plan import Plan
from cauce.lab.deploy.secret import Secrets, fresh
from cauce.lab.deploy.writing import File, prepare, write

Platform = Literal["compose", "kubernetes"]
PLATFORMS: tuple[Platform, ...] = get_args(Platform)


@dataclass(frozen=True)
class _Maker:
    files: Callable[[Plan, Secrets], list[File]]
    known: Callable[[Path], Secrets | None]
    check: Callable[[Plan], None] = lambda plan: None
    """Raises if the platform does not support the plan; called before anything is written."""
    once: Callable[[Path], list[File]] = lambda folder: []
    """Files that are written only if they do not exist."""


_MAKERS: dict[Platform, _Maker] = {
    "compose": _Maker(compose.files, compose.known),
    "kubernetes": _Maker(kubernetes.files, kubernetes.known, kubernetes.check, kubernetes.first_tokens),
}


def deploy(platform: Platform, plan: Plan, folder: Path, package: Path, *, force: bool = False) -> None:
    """Writes all files into the folder. `package` is the folder of Cauce's sources."""
    maker = _MAKERS[platform]
    sources = image.sources(package)
    maker.check(plan)
    prepare(folder, force=force)
    files = maker.files(plan, maker.known(folder) or fresh())
    write(folder, [*files, *maker.once(folder), *image.files(), *sources])
