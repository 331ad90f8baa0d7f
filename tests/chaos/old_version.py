"""Another version of Cauce beside this one: its sources in a folder, and processes that run them.

The old version is a commit, or a folder that holds `src`, named by `CAUCE_OLD_VERSION`; without it, the last commit of
the version before this one. The next version is a copy of these sources with another number.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import cauce
from tests.cli.running import COLOURS, TIMEOUT_S, Outcome

VERSION = "CAUCE_OLD_VERSION"
ROOT = Path(cauce.__file__).parents[2]
STOP_S = 30.0
POLL_S = 0.05
NEXT_NUMBER = "99.0.0"


@dataclass(frozen=True)
class Version:
    """Sources of Cauce. `label` is a commit or a path, or `new` for those of this run."""

    label: str
    sources: Path

    @property
    def environment(self) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if name not in COLOURS}
        return {**own, "PYTHONPATH": str(self.sources), "PYTHONSAFEPATH": "1"}

    def cauce(self, folder: Path, *arguments: str) -> Outcome:
        command = [sys.executable, "-m", "cauce", *arguments]
        done = subprocess.run(
            command, cwd=folder, env=self.environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    @contextmanager
    def process(self, log: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """A gateway or a worker, until the end of the block."""
        with log.open("a") as file:
            command = [sys.executable, "-m", "cauce", *arguments]
            started = subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=file, text=True)
        try:
            yield started
        finally:
            started.send_signal(signal.SIGTERM)
            try:
                started.wait(STOP_S)
            except subprocess.TimeoutExpired:
                started.kill()
                started.wait()
            assert started.stdout is not None
            started.stdout.close()


NEW = Version("new", ROOT / "src")


def old_version(folder: Path) -> Version:
    """Skips the test where there is no history to take it from."""
    wanted = os.environ.get(VERSION) or _last_of_previous_version()
    if Path(wanted, "src").is_dir():
        return Version(wanted, Path(wanted, "src"))
    archive = _git("archive", "--format=tar", wanted, "src")
    if archive.returncode:
        pytest.skip(f"no commit {wanted} here; set {VERSION} to a commit or a folder with src")
    folder.mkdir(parents=True)
    subprocess.run(["tar", "--extract", "--directory", str(folder)], input=archive.stdout, check=True)
    return Version(wanted, folder / "src")


def next_version(folder: Path) -> Version:
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    declaring = folder / "src" / "cauce" / "__init__.py"
    changed, count = re.subn(r'__version__ = ".*"', f'__version__ = "{NEXT_NUMBER}"', declaring.read_text())
    assert count == 1
    declaring.write_text(changed)
    return Version("next", folder / "src")


def _last_of_previous_version() -> str:
    minor = ".".join(cauce.__version__.split(".")[:2])
    found = _git("log", "--format=%H", "--reverse", f'-S__version__ = "{minor}.', "--", "src/cauce/__init__.py")
    commits = found.stdout.decode().split()
    return f"{commits[0]}^" if commits else "HEAD"


def _git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=False)


def until_ready(gateway: subprocess.Popen[str]) -> str:
    """The address of a started gateway."""
    assert gateway.stdout is not None
    line = gateway.stdout.readline()
    assert "ready on http" in line, line
    return line.split()[-1]
