"""Runs the instructions of a Dockerfile without Docker: every stage in a copy of a directory with a Debian system.

A base image `python:3.11-slim` is a Debian 12 made by debootstrap, whose Python is in /usr/local, as in the image. It
differs from the image in details such as the patch version of Python.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cauce.lab import broker

SUITES = {"python:3.11-slim": "bookworm", "python:3.13-slim": "trixie"}
PACKAGES = ("ca-certificates", "python3", "python3-venv")
BUILD = Path(broker.__file__).with_name("debian_root.sh")
UNABLE = 3
"""Its exit code if a machine cannot build the directory."""
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
TIMEOUT_S = 1800


class Unable(Exception):
    """This machine cannot run a Dockerfile in this way."""


@dataclass
class Stage:
    """A directory with the files of an image, and its settings."""

    root: Path
    variables: dict[str, str] = field(default_factory=dict)
    user: str = "0:0"
    folder: str = "/"
    entry: list[str] = field(default_factory=list)

    def run(self, command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs a command as a container would: its own processes and mounts, the files of the stage."""
        here = shlex.quote(str(self.root))
        inner = (
            f"mount -t proc proc {here}/proc && mount -t tmpfs tmpfs {here}/dev/shm 2>/dev/null || true; "
            f'exec chroot --userspec={self.user} {here} /usr/bin/env -C {shlex.quote(self.folder)} "$@"'
        )
        base = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
        return subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "sh", "-c", inner, "sh", *command],
            env={**base, **network_settings(), **self.variables, **variables},
            capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip


def network_settings() -> dict[str, str]:
    names = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "PIP_INDEX_URL")
    return {name: os.environ[name] for name in names if name in os.environ}


def instructions(text: str) -> Iterator[tuple[str, str]]:
    joined = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", text, flags=re.M))
    for line in filter(None, joined.splitlines()):
        word, _, rest = line.partition(" ")
        yield word, rest.strip()


def run_dockerfile(context: Path, cache: Path, work: Path) -> Stage:
    """Builds all stages of the Dockerfile in a directory and returns the last. A failed step raises AssertionError."""
    stages: dict[str, Stage] = {}
    current = Stage(work)
    ignored = ignored_files(context)
    for word, rest in instructions((context / "Dockerfile").read_text(encoding="utf-8")):
        match word:
            case "FROM":
                image, *named = rest.split(" AS ")
                name = named[0] if named else str(len(stages))
                current = stages[name] = Stage(work / name)
                subprocess.run(["cp", "-a", base_root(image, cache), current.root], check=True)
            case "ENV":
                current.variables |= dict(each.split("=", 1) for each in shlex.split(rest))
            case "COPY":
                copy(rest.split(), context, stages, current, ignored)
            case "RUN":
                done = current.run(["/bin/sh", "-c", rest])
                assert done.returncode == 0, f"{rest}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
            case "USER":
                current.user = rest
            case "WORKDIR":
                current.folder = rest
            case "ENTRYPOINT":
                current.entry = re.findall(r'"([^"]+)"', rest)
            case "EXPOSE":
                pass
            case _:
                raise AssertionError(f"unknown instruction {word}")
    return current


def ignored_files(context: Path) -> list[str]:
    path = context / ".dockerignore"
    return path.read_text(encoding="utf-8").split() if path.exists() else []


def copy(words: list[str], context: Path, stages: Mapping[str, Stage], stage: Stage, ignored: list[str]) -> None:
    start = context
    if words[0].startswith("--from="):
        start = stages[words.pop(0).removeprefix("--from=")].root
    *sources, target = words
    goal = stage.root / target.lstrip("/")
    for source in sources:
        found = start / source.lstrip("/")
        assert glob.glob(str(found)), f"COPY: {source} does not exist"
        if found.is_dir():

            def skipped(folder: str, names: list[str], top: Path = found) -> set[str]:
                return {name for name in names if is_ignored(Path(folder, name).relative_to(top), ignored)}

            shutil.copytree(found, goal, ignore=skipped, dirs_exist_ok=True, symlinks=True)
        else:
            into = goal / found.name if target.endswith("/") or len(sources) > 1 else goal
            into.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(found, into)


def is_ignored(path: Path, patterns: list[str]) -> bool:
    return any(
        fnmatch.fnmatch(path.name, pattern[3:]) if pattern.startswith("**/") else str(path) == pattern
        for pattern in patterns
    )


def base_root(image: str, cache: Path) -> Path:
    """The directory that stands for a base image; made once, as the directories of RabbitMQ are."""
    suite = SUITES[image]
    root = cache / f"python-{suite}"
    if root.is_dir():
        return root
    system = cache / f"debian-{suite}"
    done = subprocess.run(
        [BUILD, suite, system, *PACKAGES], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    if done.returncode == UNABLE:
        raise Unable(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    subprocess.run(["chroot", system, "python3", "-m", "venv", "/usr/local"], check=True, timeout=TIMEOUT_S)
    for name in ("etc/resolv.conf", CERTIFICATES):
        if Path("/", name).is_file():
            shutil.copy(Path("/", name), system / name)
    system.rename(root)
    return root
