"""Finds the RabbitMQ that is installed: its own scripts, never a package's wrapper, which would switch the user."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SERVER = "rabbitmq-server"
ENTER = 'mount --bind "$0/usr" /usr && exec "$@"'
"""Runs a command with the /usr of another root directory. In a mount namespace of its own: nothing else sees the mount,
and it vanishes with the process. All other paths are those of the machine."""

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
    root: Path | None = None
    """Root directory whose /usr holds it, if it is that of another Debian release."""

    @property
    def label(self) -> str:
        return ".".join(map(str, self.version))

    @property
    def prefix(self) -> tuple[str, ...]:
        """Prefix of every command of this installation."""
        if self.root is None:
            return ()
        # An ordinary user may mount in a user namespace only.
        user = () if os.geteuid() == 0 else ("--map-root-user",)
        return ("unshare", "--mount", *user, "/bin/sh", "-c", ENTER, str(self.root))

    @property
    def plugins(self) -> Path:
        """Folder of the plugins, seen from outside of its root directory."""
        if self.root is None:
            return self.scripts.parent / "plugins"
        return next(self.root.glob("usr/lib/rabbitmq/lib/*/plugins"))

    @property
    def server(self) -> Path:
        return self.scripts / SERVER

    @property
    def control(self) -> Path:
        return self.scripts / "rabbitmqctl"


def find(path: str | None = None) -> Installation | None:
    """The installation on `path`, by default that of the environment."""
    searched = os.environ.get("PATH", "") if path is None else path
    epmd = _epmd(searched)
    if epmd is None:
        return None
    for scripts in _folders_of_scripts(searched):
        version = version_of(scripts.parent / "plugins")
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


def version_of(plugins: Path) -> tuple[int, ...] | None:
    """The version, from the name of the folder of the plugin `rabbit`."""
    for each in sorted(plugins.glob("rabbit-[0-9]*")):
        match = re.match(r"rabbit-(\d+)\.(\d+)\.(\d+)", each.name)
        if match is not None:
            return tuple(map(int, match.groups()))
    return None
