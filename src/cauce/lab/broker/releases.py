"""RabbitMQ of other Debian releases, in root directories beside the installed one, and the choice of the version that
private nodes run. A root directory is built once per machine, by `build_root.sh`; nothing is ever installed by it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from cauce.errors import UsageError
from cauce.fabric.rabbitmq.settings.required import DEVELOPED_FOR, OLDEST
from cauce.lab.broker.installation import HOW_TO_INSTALL, SERVER, Installation, find, version_of

VERSION = "CAUCE_RABBITMQ_VERSION"
CACHE = "CAUCE_CACHE"
RELEASES = ("4.0", "4.3")
"""Versions that can be built, as the first two numbers: of Debian 13, and of Debian unstable."""
BUILD = Path(__file__).with_name("build_root.sh")
_UNABLE = 3


def cache_folder() -> Path:
    """The same rule as in `build_root.sh`."""
    if given := os.environ.get(CACHE):
        return Path(given)
    if os.geteuid() == 0:
        return Path("/var/cache/cauce")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cauce"


def choose(version: str | None = None) -> Installation:
    """The RabbitMQ for private nodes: the given version, or that of `CAUCE_RABBITMQ_VERSION`, or the best one that is
    there. Raises with instructions if there is none."""
    wanted = version or os.environ.get(VERSION)
    found = _of_version(wanted) if wanted else best()
    if found is None:
        raise UsageError(f"RabbitMQ is not installed, or {SERVER} and erl are not on PATH; {HOW_TO_INSTALL}")
    if found.version < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise UsageError(
            f"RabbitMQ {found.label} in {found.scripts} is too old: {oldest} is the oldest supported version"
        )
    return found


def choose_again(version: str | None) -> Installation:
    """The version that a node ran before, if it is still there; else that of `choose`."""
    return (_there(version) if version else None) or choose()


def best() -> Installation | None:
    """An installed RabbitMQ of a version that we develop for, else the first that was built, else the installed one."""
    installed = find()
    if installed is not None and installed.version >= DEVELOPED_FOR:
        return installed
    return next(filter(None, map(built, RELEASES)), installed)


def built(release: str) -> Installation | None:
    """The RabbitMQ in the root directory of a release, if it was built."""
    root = cache_folder() / f"rabbitmq-{release}"
    for plugins in root.glob("usr/lib/rabbitmq/lib/*/plugins"):
        version = version_of(plugins)
        if version is not None:
            return Installation(Path("/usr/lib/rabbitmq/bin"), version, Path("/usr/bin/epmd"), root)
    return None


def build(release: str) -> None:
    """Builds the root directory of a release, with its notes on the standard error. Raises if this machine cannot."""
    done = subprocess.run([str(BUILD), release], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
    if done.returncode == _UNABLE:
        raise UsageError(f"RabbitMQ {release} is not installed and cannot be built here; {HOW_TO_INSTALL}")
    if done.returncode:
        raise UsageError(f"RabbitMQ {release} could not be built: {BUILD.name} ended with {done.returncode}")


def _there(wanted: str) -> Installation | None:
    installed = find()
    if installed is not None and f"{installed.label}.".startswith(f"{wanted}."):
        return installed
    return built(wanted) if wanted in RELEASES else None


def _of_version(wanted: str) -> Installation:
    found = _there(wanted)
    if found is None and wanted in RELEASES:
        build(wanted)
        found = built(wanted)
    if found is None:
        installed = find()
        there = [] if installed is None else [installed.label]
        raise UsageError(f"RabbitMQ {wanted} is not available; expected one of {', '.join([*RELEASES, *there])}")
    return found
