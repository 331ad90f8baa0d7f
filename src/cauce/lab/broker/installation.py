"""Finds the RabbitMQ that is installed: its own scripts, never a package's wrapper, which would switch the user."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cauce.errors import UsageError
from cauce.fabric.rabbitmq.settings.required import OLDEST

SERVER = "rabbitmq-server"

HOW_TO_INSTALL = (
    "on Debian and Ubuntu: apt-get install rabbitmq-server; on macOS: brew install rabbitmq; "
    "elsewhere unpack the generic build of rabbitmq.com and put its sbin folder on PATH"
)


@dataclass(frozen=True)
class Installation:
    scripts: Path
    """Folder of `rabbitmq-server` and `rabbitmqctl` as RabbitMQ ships them."""
    version: tuple[int, ...]
    epmd: Path

    @property
    def server(self) -> Path:
        return self.scripts / SERVER

    @property
    def control(self) -> Path:
        return self.scripts / "rabbitmqctl"


def installed() -> Installation:
    """The installation; raises with instructions if there is none."""
    found = find()
    if found is None:
        raise UsageError(f"RabbitMQ is not installed, or {SERVER} and erl are not on PATH; {HOW_TO_INSTALL}")
    if found.version < OLDEST:
        version, oldest = (".".join(map(str, each)) for each in (found.version, OLDEST))
        raise UsageError(f"RabbitMQ {version} in {found.scripts} is too old: {oldest} is the oldest supported version")
    return found


def find(path: str | None = None) -> Installation | None:
    """The installation on `path`, by default that of the environment."""
    searched = os.environ.get("PATH", "") if path is None else path
    epmd = _epmd(searched)
    if epmd is None:
        return None
    for scripts in _folders_of_scripts(searched):
        version = _version(scripts.parent / "plugins")
        if version is not None:
            return Installation(scripts, version, epmd)
    return None


def _folders_of_scripts(path: str) -> Iterator[Path]:
    for folder in _with_sbin(path):
        found = shutil.which(SERVER, path=str(folder))
        if found is None:
            continue
        # Debian and the RPMs put a wrapper on PATH, and the scripts themselves into lib/rabbitmq/bin.
        wrapped = Path("lib/rabbitmq/bin") / SERVER
        for script in (Path(found), folder.parent / wrapped, Path(found).resolve().with_name(SERVER)):
            own = script.resolve().parent
            if (own / "rabbitmq-env").is_file() and (own / SERVER).is_file():
                yield own


def _with_sbin(path: str) -> Iterator[Path]:
    """The folders of a path; beside each bin its sbin, which an ordinary user's path lacks."""
    for each in filter(None, path.split(os.pathsep)):
        folder = Path(each)
        yield folder
        if folder.name == "bin":
            yield folder.with_name("sbin")


def _epmd(path: str) -> Path | None:
    """Erlang's name server: beside `erl`, or on the path."""
    erl = shutil.which("erl", path=path)
    if erl is None:
        return None
    beside = Path(erl).resolve().with_name("epmd")
    found = str(beside) if beside.is_file() else shutil.which("epmd", path=path)
    return None if found is None else Path(found)


def _version(plugins: Path) -> tuple[int, ...] | None:
    """The version, from the name of the folder of the plugin `rabbit`."""
    for each in sorted(plugins.glob("rabbit-[0-9]*")):
        match = re.match(r"rabbit-(\d+)\.(\d+)\.(\d+)", each.name)
        if match is not None:
            return tuple(map(int, match.groups()))
    return None
